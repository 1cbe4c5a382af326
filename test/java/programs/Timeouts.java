import java.util.List;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.producer.KafkaProducer;

/** Transactions that outlive their timeout, and what their producers can do then. */
final class Timeouts {
    /** Long enough for a producer that does not wait. */
    private static final String TIMEOUT = "2000";

    public static void main(String[] args) throws Exception {
        String bootstrap = args[0];
        try (Admin admin = Kafka.admin(bootstrap)) {
            Kafka.topic(admin, "timeouts", 1, 1);
            try (KafkaProducer<String, String> producer = Kafka.transactional(bootstrap, "timeouts-long", "transaction.timeout.ms", "900001")) {
                Kafka.attempt("a timeout above transaction.max.timeout.ms", producer::initTransactions);
            }
            for (String first : List.of("send", "commit", "abort", "offsets")) {
                expired(bootstrap, admin, first);
            }
            inTime(bootstrap, admin);
        }
    }

    private static void expired(String bootstrap, Admin admin, String first) throws Exception {
        String id = "timeouts-" + first;
        System.out.println("timed out, then " + first);
        try (KafkaProducer<String, String> producer = Kafka.transactional(bootstrap, id, "transaction.timeout.ms", TIMEOUT)) {
            timeOut(producer, admin, id);
            Kafka.act(producer, "timeouts", first);
            Kafka.act(producer, "timeouts", "abort");
            Kafka.act(producer, "timeouts", "begin");
            Kafka.act(producer, "timeouts", "send");
            Kafka.act(producer, "timeouts", "commit");
        }
    }

    /** Has a producer open a transaction, and waits until its coordinator has aborted it. */
    private static void timeOut(KafkaProducer<String, String> producer, Admin admin, String id) throws Exception {
        producer.initTransactions();
        producer.beginTransaction();
        Kafka.send(producer, "timeouts", 0, id);
        Kafka.await("the coordinator's abort", () -> state(admin, id) == TransactionState.COMPLETE_ABORT);
    }

    /** Nothing was sent: there is no transaction that could time out while another one does. */
    private static void inTime(String bootstrap, Admin admin) throws Exception {
        System.out.println("nothing sent for longer than the timeout");
        try (KafkaProducer<String, String> producer = Kafka.transactional(bootstrap, "timeouts-idle", "transaction.timeout.ms", TIMEOUT);
             KafkaProducer<String, String> other = Kafka.transactional(bootstrap, "timeouts-other", "transaction.timeout.ms", TIMEOUT)) {
            producer.initTransactions();
            Kafka.act(producer, "timeouts", "begin");
            timeOut(other, admin, "timeouts-other");
            Kafka.act(producer, "timeouts", "send");
            Kafka.act(producer, "timeouts", "commit");
        }
    }

    private static TransactionState state(Admin admin, String id) throws Exception {
        return admin.describeTransactions(List.of(id)).all().get().get(id).state();
    }
}
