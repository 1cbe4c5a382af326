import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeProducersOptions;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.ListTransactionsOptions;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** The admin client's calls about transactions, groups, offsets, topics and the cluster. */
final class Admins {
    private static final TopicPartition P0 = new TopicPartition("admins", 0);
    private static final TopicPartition P1 = new TopicPartition("admins", 1);
    private static final TopicPartition MISSING = new TopicPartition("admins-missing", 0);

    public static void main(String[] args) throws Exception {
        String bootstrap = args[0];
        try (Admin admin = Kafka.admin(bootstrap)) {
            Kafka.topic(admin, "admins", 2, 1, 2, 3);
            transactions(bootstrap, admin);
            offsets(bootstrap, admin);
            groups(bootstrap, admin);
            topics(admin);
            cluster(admin);
        }
    }

    private static void transactions(String bootstrap, Admin admin) throws Exception {
        System.out.println("transactions");
        try (KafkaProducer<String, String> open = Kafka.transactional(bootstrap, "admins-open");
             KafkaProducer<String, String> done = Kafka.transactional(bootstrap, "admins-done");
             KafkaProducer<String, String> idle = Kafka.transactional(bootstrap, "admins-idle")) {
            for (KafkaProducer<String, String> p : List.of(open, done, idle)) {
                p.initTransactions();
            }
            open.beginTransaction();
            done.beginTransaction();
            Kafka.send(open, "admins", 0, "a", "b");
            Kafka.send(open, "admins", 1, "c");
            Kafka.send(done, "admins", 1, "d");
            open.sendOffsetsToTransaction(Map.of(P0, new OffsetAndMetadata(1)), new ConsumerGroupMetadata("admins-pending"));
            done.commitTransaction();
            Kafka.await("the commit", () -> state(admin, "admins-done") == TransactionState.COMPLETE_COMMIT);
            Kafka.tell("listTransactions", () -> listed(admin.listTransactions().all().get()));
            Kafka.tell("of a state", () -> listed(admin.listTransactions(new ListTransactionsOptions()
                .filterStates(Set.of(TransactionState.ONGOING))).all().get()));
            Kafka.tell("of a duration", () -> listed(admin.listTransactions(new ListTransactionsOptions().filterOnDuration(3_600_000)).all().get()));
            Kafka.tell("of a pattern", () -> listed(admin.listTransactions(new ListTransactionsOptions()
                .filterOnTransactionalIdPattern("admins-[di].*")).all().get()));
            for (String id : List.of("admins-open", "admins-done", "admins-idle", "admins-nobody")) {
                Kafka.tell("describeTransactions " + id, () -> described(admin.describeTransactions(List.of(id)).all().get().get(id)));
            }
            for (TopicPartition p : List.of(P0, P1)) {
                Kafka.tell("describeProducers " + p, () -> producers(admin.describeProducers(List.of(p)).partitionResult(p).get().activeProducers()));
            }
            Kafka.tell("describeProducers of a follower", () -> producers(admin.describeProducers(List.of(P0),
                new DescribeProducersOptions().brokerId(3)).partitionResult(P0).get().activeProducers()));
            Kafka.tell("stable offsets", () -> admin.listConsumerGroupOffsets("admins-pending",
                new ListConsumerGroupOffsetsOptions().requireStable(false)).partitionsToOffsetAndMetadata().get());
            Kafka.attempt("abort", open::abortTransaction);
            Kafka.tell("fenceProducers", () -> admin.fenceProducers(List.of("admins-idle")).epochId("admins-idle").get());
            Kafka.tell("fenceProducers of nobody", () -> admin.fenceProducers(List.of("admins-new")).epochId("admins-new").get());
            Kafka.tell("state", () -> state(admin, "admins-new"));
            Kafka.attempt("forceTerminateTransaction of nobody", () -> admin.forceTerminateTransaction("admins-none").result().get());
        }
    }

    private static TransactionState state(Admin admin, String id) throws Exception {
        return admin.describeTransactions(List.of(id)).all().get().get(id).state();
    }

    private static String listed(Collection<TransactionListing> all) {
        return all.stream().filter(t -> t.transactionalId().startsWith("admins")).map(t -> t.transactionalId() + " " + t.state()).sorted().toList().toString();
    }

    private static String described(TransactionDescription d) {
        return d.state() + " epoch " + d.producerEpoch() + " timeout " + d.transactionTimeoutMs() + " started " + d.transactionStartTimeMs().isPresent()
            + " " + Kafka.partitions(d.topicPartitions());
    }

    private static String producers(List<ProducerState> all) {
        return all.stream().map(p -> "epoch " + p.producerEpoch() + " sequence " + p.lastSequence() + " coordinator epoch known "
            + p.coordinatorEpoch().isPresent() + " start " + p.currentTransactionStartOffset()).sorted().toList().toString();
    }

    private static void offsets(String bootstrap, Admin admin) {
        System.out.println("offsets of groups");
        Kafka.tell("of no group", () -> admin.listConsumerGroupOffsets("admins-none").partitionsToOffsetAndMetadata().get());
        Kafka.attempt("alter", () -> admin.alterConsumerGroupOffsets("admins-offsets",
            Map.of(P0, new OffsetAndMetadata(1, Optional.of(0), "by hand"), P1, new OffsetAndMetadata(2))).all().get());
        Kafka.tell("list", () -> Kafka.sorted(admin.listConsumerGroupOffsets("admins-offsets").partitionsToOffsetAndMetadata().get()));
        Kafka.tell("list some", () -> Kafka.sorted(admin.listConsumerGroupOffsets(Map.of("admins-offsets",
            new ListConsumerGroupOffsetsSpec().topicPartitions(List.of(P1, MISSING)))).partitionsToOffsetAndMetadata("admins-offsets").get()));
        Kafka.attempt("alter one that is not there", () -> admin.alterConsumerGroupOffsets("admins-offsets",
            Map.of(MISSING, new OffsetAndMetadata(1))).all().get());
        Kafka.attempt("delete", () -> admin.deleteConsumerGroupOffsets("admins-offsets", Set.of(P0)).all().get());
        Kafka.tell("list", () -> Kafka.sorted(admin.listConsumerGroupOffsets("admins-offsets").partitionsToOffsetAndMetadata().get()));
        Kafka.attempt("delete of no group", () -> admin.deleteConsumerGroupOffsets("admins-none", Set.of(P0)).all().get());
        Kafka.attempt("delete one that is not there", () -> admin.deleteConsumerGroupOffsets("admins-offsets", Set.of(MISSING)).partitionResult(MISSING).get());
    }

    private static void groups(String bootstrap, Admin admin) throws Exception {
        System.out.println("groups");
        for (String protocol : List.of("classic", "consumer")) {
            String group = "admins-" + protocol;
            try (KafkaConsumer<String, String> c = Kafka.consumer(bootstrap, "read_committed", "group.id", group,
                "group.protocol", protocol, "group.instance.id", "instance", "client.id", "admins")) {
                c.subscribe(List.of("admins"));
                Kafka.await("an assignment", () -> {
                    c.poll(java.time.Duration.ofMillis(50));
                    return c.assignment().size() == 2;
                });
                c.commitSync();
                Kafka.tell("describe", () -> {
                    var d = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
                    var m = d.members().iterator().next();
                    return d.type() + " " + d.groupState() + " " + d.partitionAssignor() + " simple " + d.isSimpleConsumerGroup()
                        + " epochs " + d.groupEpoch() + " " + d.targetAssignmentEpoch() + " member " + m.clientId() + " " + m.groupInstanceId()
                        + " " + m.host() + " epoch " + m.memberEpoch() + " upgraded " + m.upgraded() + " " + Kafka.partitions(m.assignment().topicPartitions())
                        + " target " + m.targetAssignment().map(t -> Kafka.partitions(t.topicPartitions()));
                });
                Kafka.attempt("alter offsets", () -> admin.alterConsumerGroupOffsets(group, Map.of(P0, new OffsetAndMetadata(1))).all().get());
                Kafka.attempt("delete offsets", () -> admin.deleteConsumerGroupOffsets(group, Set.of(P0)).all().get());
                Kafka.attempt("delete", () -> admin.deleteConsumerGroups(List.of(group)).all().get());
                Kafka.attempt("remove a member that is not there", () -> admin.removeMembersFromConsumerGroup(group,
                    new RemoveMembersFromConsumerGroupOptions(List.of(new MemberToRemove("other")))).all().get());
                Kafka.attempt("remove the member", () -> admin.removeMembersFromConsumerGroup(group,
                    new RemoveMembersFromConsumerGroupOptions(List.of(new MemberToRemove("instance")))).all().get());
            }
            Kafka.tell("state", () -> admin.describeConsumerGroups(List.of(group)).all().get().get(group).groupState());
        }
        Kafka.tell("describe none", () -> admin.describeConsumerGroups(List.of("admins-none")).all().get());
        Kafka.tell("describe a classic group", () -> {
            var d = admin.describeClassicGroups(List.of("admins-classic")).all().get().get("admins-classic");
            return d.protocol() + " " + d.state() + " " + d.members();
        });
        Kafka.tell("describe another as classic", () -> admin.describeClassicGroups(List.of("admins-consumer")).all().get());
        Kafka.tell("describe no share group", () -> admin.describeShareGroups(List.of("admins-consumer")).all().get());
        Kafka.tell("describe no streams group", () -> admin.describeStreamsGroups(List.of("admins-consumer")).all().get());
        Kafka.tell("listGroups", () -> names(admin.listGroups().all().get()));
        Kafka.tell("of consumers", () -> names(admin.listGroups(ListGroupsOptions.forConsumerGroups()).all().get()));
        Kafka.tell("empty ones", () -> names(admin.listGroups(new ListGroupsOptions().inGroupStates(Set.of(GroupState.EMPTY))).all().get()));
        Kafka.attempt("delete", () -> admin.deleteConsumerGroups(List.of("admins-classic", "admins-consumer", "admins-offsets")).all().get());
        Kafka.attempt("delete again", () -> admin.deleteConsumerGroups(List.of("admins-classic")).all().get());
        Kafka.tell("listGroups", () -> names(admin.listGroups().all().get()));
    }

    private static String names(Collection<GroupListing> all) {
        return all.stream().filter(g -> g.groupId().startsWith("admins")).map(g -> g.groupId() + " " + g.type().map(Object::toString).orElse("?") + " "
            + g.protocol() + " " + g.groupState().map(Object::toString).orElse("?")).sorted().toList().toString();
    }

    private static void topics(Admin admin) throws Exception {
        System.out.println("topics");
        Kafka.attempt("create again", () -> admin.createTopics(List.of(new NewTopic("admins", 1, (short) 1))).all().get());
        Kafka.attempt("create with no partition", () -> admin.createTopics(List.of(new NewTopic("admins-x", 0, (short) 1))).all().get());
        Kafka.attempt("create with too many replicas", () -> admin.createTopics(List.of(new NewTopic("admins-x", 1, (short) 4))).all().get());
        Kafka.attempt("create with a setting that is none", () -> admin.createTopics(List.of(new NewTopic("admins-x", 1, (short) 1)
            .configs(Map.of("nothing", "1")))).all().get());
        Kafka.attempt("create with a bad value", () -> admin.createTopics(List.of(new NewTopic("admins-x", 1, (short) 1)
            .configs(Map.of("retention.ms", "x")))).all().get());
        Kafka.attempt("create with odd replicas", () -> admin.createTopics(List.of(new NewTopic("admins-x", Map.of(0, List.of(1, 1))))).all().get());
        Kafka.attempt("create with partitions 1 and 2", () -> admin.createTopics(List.of(new NewTopic("admins-x", Map.of(1, List.of(1), 2, List.of(1))))).all().get());
        Kafka.tell("describe", () -> {
            var d = admin.describeTopics(List.of("admins")).allTopicNames().get().get("admins");
            return d.name() + " internal " + d.isInternal() + " " + d.partitions().stream().map(p -> p.partition() + " leader " + p.leader().id()
                + " replicas " + p.replicas().stream().map(n -> n.id()).toList() + " isr " + p.isr().stream().map(n -> n.id()).toList()).toList();
        });
        Kafka.tell("describe none", () -> admin.describeTopics(List.of("admins-none")).allTopicNames().get());
        Kafka.attempt("fewer partitions", () -> admin.createPartitions(Map.of("admins", NewPartitions.increaseTo(1))).all().get());
        Kafka.attempt("as many", () -> admin.createPartitions(Map.of("admins", NewPartitions.increaseTo(2))).all().get());
        Kafka.attempt("more", () -> admin.createPartitions(Map.of("admins", NewPartitions.increaseTo(3, List.of(List.of(2, 3))))).all().get());
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, "admins");
        Kafka.attempt("set", () -> alter(admin, topic, "retention.ms", "5000", AlterConfigOp.OpType.SET));
        Kafka.attempt("append", () -> alter(admin, topic, "cleanup.policy", "compact", AlterConfigOp.OpType.APPEND));
        Kafka.attempt("append to what is no list", () -> alter(admin, topic, "retention.ms", "1", AlterConfigOp.OpType.APPEND));
        Kafka.tell("settings", () -> settings(admin, topic));
        Kafka.attempt("subtract", () -> alter(admin, topic, "cleanup.policy", "delete", AlterConfigOp.OpType.SUBTRACT));
        Kafka.attempt("delete", () -> alter(admin, topic, "retention.ms", "", AlterConfigOp.OpType.DELETE));
        Kafka.tell("settings", () -> settings(admin, topic));
        Kafka.tell("settings of none", () -> settings(admin, new ConfigResource(ConfigResource.Type.TOPIC, "admins-none")));
        Kafka.tell("elect", () -> elected(admin, ElectionType.PREFERRED));
        Kafka.tell("elect uncleanly", () -> elected(admin, ElectionType.UNCLEAN));
        Kafka.attempt("move", () -> admin.alterPartitionReassignments(Map.of(P0, Optional.of(new NewPartitionReassignment(List.of(2, 3))))).all().get());
        Kafka.await("the move", () -> admin.listPartitionReassignments().reassignments().get().isEmpty());
        Kafka.tell("replicas", () -> admin.describeTopics(List.of("admins")).allTopicNames().get().get("admins").partitions().get(0).replicas()
            .stream().map(n -> n.id()).toList());
        Kafka.attempt("move to nowhere", () -> admin.alterPartitionReassignments(Map.of(P0, Optional.of(new NewPartitionReassignment(List.of(9))))).all().get());
        Kafka.attempt("stop a move that is none", () -> admin.alterPartitionReassignments(Map.of(P0, Optional.empty())).all().get());
        Kafka.tell("log directories", () -> {
            Map<Integer, Object> all = new TreeMap<>();
            admin.describeLogDirs(List.of(2, 3)).allDescriptions().get().forEach((broker, dirs) -> all.put(broker, dirs.values().stream().flatMap(d ->
                d.replicaInfos().entrySet().stream()).filter(e -> e.getKey().topic().equals("admins")).map(e -> e.getKey() + " lag " + e.getValue().offsetLag()
                + " future " + e.getValue().isFuture() + " filled " + (e.getValue().size() > 0)).sorted().toList()));
            return all;
        });
        Kafka.attempt("delete the topic", () -> admin.deleteTopics(List.of("admins")).all().get());
        Kafka.attempt("delete it again", () -> admin.deleteTopics(List.of("admins")).all().get());
    }

    private static Object elected(Admin admin, ElectionType type) throws Exception {
        Map<TopicPartition, Optional<Throwable>> all = admin.electLeaders(type, Set.of(P1, MISSING)).partitions().get();
        Map<String, String> told = new TreeMap<>();
        all.forEach((p, e) -> told.put(p.toString(), e.map(Kafka::name).orElse("ok")));
        return told;
    }

    private static void alter(Admin admin, ConfigResource of, String name, String value, AlterConfigOp.OpType how) throws Exception {
        admin.incrementalAlterConfigs(Map.of(of, List.of(new AlterConfigOp(new ConfigEntry(name, value), how)))).all().get();
    }

    private static String settings(Admin admin, ConfigResource of) throws Exception {
        return admin.describeConfigs(List.of(of)).all().get().get(of).entries().stream()
            .filter(e -> e.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG).map(e -> e.name() + "=" + e.value()).sorted().collect(Collectors.joining(" "));
    }

    private static void cluster(Admin admin) {
        System.out.println("cluster");
        Kafka.tell("nodes", () -> admin.describeCluster().nodes().get().stream().map(n -> n.id() + " rack " + n.rack() + " fenced " + n.isFenced()).sorted().toList());
        Kafka.tell("features", () -> {
            var f = admin.describeFeatures().featureMetadata().get();
            return new TreeMap<>(f.finalizedFeatures()) + " of " + new TreeMap<>(f.supportedFeatures());
        });
        Kafka.tell("users", () -> admin.describeUserScramCredentials().all().get());
        Kafka.tell("rights", () -> admin.describeAcls(org.apache.kafka.common.acl.AclBindingFilter.ANY).values().get());
        Kafka.tell("tokens", () -> admin.describeDelegationToken().delegationTokens().get());
        Kafka.tell("quotas", () -> admin.describeClientQuotas(org.apache.kafka.common.quota.ClientQuotaFilter.all()).entities().get());
        Kafka.tell("quorum", () -> admin.describeMetadataQuorum().quorumInfo().get().observers().stream().map(o -> o.replicaId()).sorted().toList());
        Kafka.attempt("unregister a broker that runs", () -> admin.unregisterBroker(9).all().get());
    }
}
