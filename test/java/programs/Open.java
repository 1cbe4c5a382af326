import java.util.HashMap;
import java.util.Map;

import org.apache.kafka.clients.producer.KafkaProducer;

/** Opens transactions and ends them, each in a call of its own: Open ID begin TOPIC PARTITION VALUE… and Open ID commit|abort|leave. */
final class Open {
    private static final Map<String, KafkaProducer<String, String>> PRODUCERS = new HashMap<>();

    public static void main(String[] args) throws Exception {
        String id = args[1];
        switch (args[2]) {
            case "begin" -> {
                KafkaProducer<String, String> producer = PRODUCERS.get(id);
                if (producer == null) {
                    producer = Kafka.transactional(args[0], id, "transaction.timeout.ms", "600000");
                    producer.initTransactions();
                    PRODUCERS.put(id, producer);
                }
                producer.beginTransaction();
                for (int i = 5; i < args.length; i++) {
                    Kafka.send(producer, args[3], Integer.parseInt(args[4]), args[i]);
                }
            }
            case "commit" -> Kafka.attempt("commit", PRODUCERS.get(id)::commitTransaction);
            case "abort" -> Kafka.attempt("abort", PRODUCERS.get(id)::abortTransaction);
            case "leave" -> PRODUCERS.remove(id).close(java.time.Duration.ZERO);
            default -> throw new IllegalArgumentException(args[2]);
        }
    }
}
