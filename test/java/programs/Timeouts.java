import java.util.List;
import java.util.Map;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;

/** Transactions that outlive their timeout, and what their producers can do then. */
final class Timeouts {
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
            inTime(bootstrap);
        }
    }

    private static void expired(String bootstrap, Admin admin, String first) throws Exception {
        String id = "timeouts-" + first;
        System.out.println("timed out, then " + first);
        try (KafkaProducer<String, String> producer = Kafka.transactional(bootstrap, id, "transaction.timeout.ms", "300")) {
            producer.initTransactions();
            producer.beginTransaction();
            Kafka.send(producer, "timeouts", 0, id);
            Kafka.await("the coordinator's abort", () -> state(admin, id) == TransactionState.COMPLETE_ABORT);
            act(producer, first);
            act(producer, "abort");
            act(producer, "begin");
            act(producer, "send");
            act(producer, "commit");
        }
    }

    /** Nothing was sent: there is no transaction that could time out. */
    private static void inTime(String bootstrap) throws Exception {
        System.out.println("nothing sent for longer than the timeout");
        try (KafkaProducer<String, String> producer = Kafka.transactional(bootstrap, "timeouts-idle", "transaction.timeout.ms", "300")) {
            producer.initTransactions();
            act(producer, "begin");
            Thread.sleep(1500);
            act(producer, "send");
            act(producer, "commit");
        }
    }

    private static TransactionState state(Admin admin, String id) throws Exception {
        return admin.describeTransactions(List.of(id)).all().get().get(id).state();
    }

    private static void act(KafkaProducer<String, String> producer, String what) throws Exception {
        Thread.sleep(100); // the producer's own thread hears of an error a moment after the caller
        switch (what) {
            case "send" -> Kafka.attempt("send", () -> Kafka.send(producer, "timeouts", 0, "late"));
            case "commit" -> Kafka.attempt("commit", producer::commitTransaction);
            case "abort" -> Kafka.attempt("abort", producer::abortTransaction);
            case "begin" -> Kafka.attempt("begin", producer::beginTransaction);
            case "offsets" -> Kafka.attempt("offsets", () -> producer.sendOffsetsToTransaction(
                Map.of(new TopicPartition("timeouts", 0), new OffsetAndMetadata(1)), new ConsumerGroupMetadata("timeouts")));
            default -> throw new IllegalArgumentException(what);
        }
    }
}
