import java.util.List;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.Node;

/** Returns when a partition has this leader, or none: Await TOPIC PARTITION LEADER|none. */
final class Await {
    public static void main(String[] args) throws Exception {
        String wanted = args[3].equals("none") ? "" : args[3];
        try (Admin admin = Kafka.admin(args[0])) {
            Kafka.await("leader " + args[3] + " of " + args[1] + "-" + args[2], () -> {
                Node leader = admin.describeTopics(List.of(args[1])).allTopicNames().get().get(args[1])
                    .partitions().get(Integer.parseInt(args[2])).leader();
                return wanted.equals(leader == null || leader.isEmpty() ? "" : leader.idString());
            });
        }
    }
}
