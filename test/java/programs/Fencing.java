import java.util.List;

import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;

/** A transactional id with two producers: each act of the one that was fenced, and all it can do then. */
final class Fencing {
    private static final TopicPartition PARTITION = new TopicPartition("fencing", 0);

    public static void main(String[] args) throws Exception {
        String bootstrap = args[0];
        try (Admin admin = Kafka.admin(bootstrap)) {
            Kafka.topic(admin, "fencing", 1, 1);
            byProducer(bootstrap, "send");
            byProducer(bootstrap, "commit");
            byProducer(bootstrap, "abort");
            byProducer(bootstrap, "offsets");
            idle(bootstrap);
            byAdmin(bootstrap, admin, "fenceProducers");
            byAdmin(bootstrap, admin, "forceTerminateTransaction");
            abortedByAdmin(bootstrap, admin);
        }
    }

    private static KafkaProducer<String, String> open(String bootstrap, String id) throws Exception {
        KafkaProducer<String, String> producer = Kafka.transactional(bootstrap, id);
        producer.initTransactions();
        producer.beginTransaction();
        Kafka.send(producer, "fencing", 0, id);
        return producer;
    }

    private static void byProducer(String bootstrap, String first) throws Exception {
        System.out.println("fenced by another producer, then " + first);
        try (KafkaProducer<String, String> old = open(bootstrap, "fencing-" + first);
             KafkaProducer<String, String> young = Kafka.transactional(bootstrap, "fencing-" + first)) {
            Kafka.attempt("the other's init", young::initTransactions);
            for (String what : List.of(first, "commit", "abort", "begin", "send")) {
                Kafka.act(old, "fencing", what);
            }
            Kafka.act(young, "fencing", "begin");
            Kafka.act(young, "fencing", "send");
            Kafka.act(young, "fencing", "commit");
        }
    }

    private static void idle(String bootstrap) throws Exception {
        System.out.println("fenced between two transactions");
        try (KafkaProducer<String, String> old = open(bootstrap, "fencing-idle");
             KafkaProducer<String, String> young = Kafka.transactional(bootstrap, "fencing-idle")) {
            Kafka.act(old, "fencing", "commit");
            Kafka.attempt("the other's init", young::initTransactions);
            for (String what : List.of("begin", "send", "commit", "abort")) {
                Kafka.act(old, "fencing", what);
            }
        }
    }

    private static void byAdmin(String bootstrap, Admin admin, String how) throws Exception {
        String id = "fencing-" + how;
        System.out.println("fenced by " + how);
        try (KafkaProducer<String, String> old = open(bootstrap, id)) {
            Kafka.attempt(how, () -> {
                if (how.equals("fenceProducers")) {
                    admin.fenceProducers(List.of(id)).all().get();
                } else {
                    admin.forceTerminateTransaction(id).result().get();
                }
            });
            Kafka.tell("state", () -> admin.describeTransactions(List.of(id)).all().get().get(id).state());
            for (String what : List.of("send", "commit", "abort", "begin")) {
                Kafka.act(old, "fencing", what);
            }
        }
        try (KafkaProducer<String, String> young = open(bootstrap, id)) {
            Kafka.act(young, "fencing", "commit");
        }
    }

    /** Admin's abortTransaction ends the transaction of a partition, and the coordinator hears nothing of it. */
    private static void abortedByAdmin(String bootstrap, Admin admin) throws Exception {
        System.out.println("aborted by abortTransaction");
        Kafka.await("no transaction", () -> active(admin) == null);
        try (KafkaProducer<String, String> producer = open(bootstrap, "fencing-aborted")) {
            ProducerState state = active(admin);
            System.out.println("epoch " + state.producerEpoch() + " coordinator epoch " + state.coordinatorEpoch());
            AbortTransactionSpec spec = new AbortTransactionSpec(PARTITION, state.producerId(), (short) state.producerEpoch(),
                state.coordinatorEpoch().orElse(0));
            Kafka.attempt("abortTransaction", () -> admin.abortTransaction(spec).all().get());
            Kafka.tell("active", () -> active(admin));
            Kafka.attempt("again", () -> admin.abortTransaction(spec).all().get());
            Kafka.attempt("with a lower epoch", () -> admin.abortTransaction(new AbortTransactionSpec(PARTITION, state.producerId(),
                (short) (state.producerEpoch() - 1), 0)).all().get());
            Kafka.tell("state", () -> admin.describeTransactions(List.of("fencing-aborted")).all().get().get("fencing-aborted").state());
            Kafka.act(producer, "fencing", "send");
            Kafka.act(producer, "fencing", "commit");
        }
    }

    /** The producer whose transaction is open on the partition, or null. */
    private static ProducerState active(Admin admin) throws Exception {
        return admin.describeProducers(List.of(PARTITION)).partitionResult(PARTITION).get().activeProducers().stream()
            .filter(p -> p.currentTransactionStartOffset().isPresent()).findFirst().orElse(null);
    }
}
