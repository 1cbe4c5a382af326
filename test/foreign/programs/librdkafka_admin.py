"""Admin calls of librdkafka."""

from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    ElectionType,
    IsolationLevel,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from librdkafka import admin, attempt, consumer, ends, error, producer, read, section, transactional, until


def each(futures, show=lambda r: "ok"):
    """Prints what came of each part of a request."""
    for key in sorted(futures, key=str):
        attempt(f"  {key}", futures[key].result, 30, show=show)


topic = "ra-orders"

section("topics")
print("create")
each(admin.create_topics([NewTopic(topic, 2, 3, config={"retention.ms": "-1"}), NewTopic("ra-other", 1, 1)]))
until(
    "it is served",
    lambda: (
        all(p.leader > 0 for p in admin.list_topics(topic, timeout=30).topics[topic].partitions.values())
        and len(admin.list_topics(topic, timeout=30).topics[topic].partitions) == 2
    ),
)
print("create what is wrong")
each(
    admin.create_topics(
        [
            NewTopic(topic, 1, 1),
            NewTopic("ra-no-partitions", 0, 1),
            NewTopic("ra-many-replicas", 1, 9),
            NewTopic("ra/name", 1, 1),
            NewTopic("ra-config", 1, 1, config={"retention.ms": "soon"}),
            NewTopic("ra-unknown-config", 1, 1, config={"retention": "1"}),
            NewTopic("ra-assigned", 1, replica_assignment=[[1, 1]]),
            NewTopic("ra-assigned-elsewhere", 1, replica_assignment=[[7]]),
            NewTopic("ra-assigned-unevenly", 2, replica_assignment=[[1, 2], [3]]),
            NewTopic("..", 1, 1),
            NewTopic("r" * 250, 1, 1),
        ]
    )
)
print("create, only validated")
each(admin.create_topics([NewTopic("ra-validated", 3, 3), NewTopic("ra-validated-wrongly", 3, 4)], validate_only=True))
print("create as assigned")
each(admin.create_topics([NewTopic("ra-by-hand", 2, replica_assignment=[[1, 2], [3, 1]])]))
until("it is there", lambda: len(admin.list_topics("ra-by-hand", timeout=30).topics["ra-by-hand"].partitions) == 2)
print("list:", *(t for t in sorted(admin.list_topics(timeout=30).topics) if t.startswith("ra-")))
for p in admin.list_topics("ra-by-hand", timeout=30).topics["ra-by-hand"].partitions.values():
    print("  partition", p.id, "replicas", p.replicas, "leader", p.leader, "isr", sorted(p.isrs))
print("unknown:", error(admin.list_topics("ra-nothing", timeout=30).topics["ra-nothing"].error))
print("describe")
for name, f in sorted(admin.describe_topics(TopicCollection([topic, "ra-by-hand", "ra-nothing"])).items()):
    attempt(
        f"  {name}",
        f.result,
        30,
        show=lambda d: (d.is_internal, [(p.id, len(p.replicas), len(p.isr)) for p in d.partitions]),
    )
print("more partitions")
each(admin.create_partitions([NewPartitions("ra-other", 3)]))
each(
    admin.create_partitions(
        [NewPartitions("ra-other", 3), NewPartitions("ra-by-hand", 1), NewPartitions("ra-nothing", 2)]
    )
)
each(admin.create_partitions([NewPartitions("ra-by-hand", 4, [[9], [1]])]))
each(admin.create_partitions([NewPartitions("ra-by-hand", 3, [[2, 3]])], validate_only=True))
print("delete")
each(admin.delete_topics(["ra-by-hand", "ra-nothing"]))
until("it is gone", lambda: admin.list_topics("ra-by-hand", timeout=30).topics["ra-by-hand"].error)

section("cluster")
attempt(
    "describe",
    lambda: admin.describe_cluster().result(30),
    show=lambda d: (sorted(n.id for n in d.nodes), d.controller is not None, len(d.cluster_id)),
)
attempt(
    "describe with operations",
    lambda: admin.describe_cluster(include_authorized_operations=True).result(30),
    show=lambda d: sorted(o.name for o in d.authorized_operations),
)
attempt(
    "a topic with operations",
    lambda: admin.describe_topics(TopicCollection([topic]), include_authorized_operations=True)[topic].result(30),
    show=lambda d: sorted(o.name for o in d.authorized_operations),
)
attempt(
    "elect leaders",
    lambda: admin.elect_leaders(
        ElectionType.PREFERRED, [TopicPartition(topic, 0), TopicPartition(topic, 9), TopicPartition("ra-nothing", 0)]
    ).result(30),
    show=lambda r: sorted((p.topic, p.partition, error(e) if e else "ok") for p, e in r.items()),
)
attempt(
    "unclean election",
    lambda: admin.elect_leaders(ElectionType.UNCLEAN, [TopicPartition(topic, 1)]).result(30),
    show=lambda r: sorted((p.topic, p.partition, error(e) if e else "ok") for p, e in r.items()),
)

section("configuration")
resource = ConfigResource(ConfigResource.Type.TOPIC, topic)


def configs(*names):
    told = admin.describe_configs([resource])[resource].result(30)
    return [
        (n, told[n].value, told[n].source, told[n].is_default, told[n].is_read_only, told[n].is_sensitive)
        for n in names
    ]


def alter(*entries):
    changed = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=list(entries))
    attempt("alter", lambda: admin.incremental_alter_configs([changed])[changed].result(30), show=lambda _: "ok")


print(*configs("retention.ms", "cleanup.policy", "min.insync.replicas", "max.message.bytes", "segment.bytes"), sep="\n")
told = admin.describe_configs([resource])[resource].result(30)
for name in sorted(told):
    print(f"  {name} = {told[name].value}, source {told[name].source}")
alter(ConfigEntry("retention.ms", "1000000", incremental_operation=AlterConfigOpType.SET))
until("it is altered", lambda: configs("retention.ms")[0][1] == "1000000")
print(*configs("retention.ms"))
alter(ConfigEntry("cleanup.policy", "compact", incremental_operation=AlterConfigOpType.APPEND))
until("it is altered", lambda: "compact" in configs("cleanup.policy")[0][1])
print(*configs("cleanup.policy"))
alter(ConfigEntry("cleanup.policy", "compact", incremental_operation=AlterConfigOpType.SUBTRACT))
alter(ConfigEntry("retention.ms", None, incremental_operation=AlterConfigOpType.DELETE))
until(
    "it is altered",
    lambda: configs("retention.ms")[0][1] == "604800000" and configs("cleanup.policy")[0][1] == "delete",
)
print(*configs("retention.ms", "cleanup.policy"))
alter(ConfigEntry("retention.ms", "soon", incremental_operation=AlterConfigOpType.SET))
alter(ConfigEntry("nothing.of.this.name", "1", incremental_operation=AlterConfigOpType.SET))
alter(ConfigEntry("retention.ms", "5", incremental_operation=AlterConfigOpType.APPEND))
unknown = ConfigResource(ConfigResource.Type.TOPIC, "ra-nothing")
attempt("describe ra-nothing", lambda: admin.describe_configs([unknown])[unknown].result(30), show=len)
broker = ConfigResource(ConfigResource.Type.BROKER, "1")
told = admin.describe_configs([broker])[broker].result(30)
for name in (
    "transaction.max.timeout.ms",
    "transactional.id.expiration.ms",
    "offsets.retention.minutes",
    "log.retention.hours",
    "transaction.state.log.num.partitions",
    "broker.id",
    "unclean.leader.election.enable",
):
    print(" ", name, (told[name].value, told[name].source, told[name].is_read_only) if name in told else "is not told")

section("offsets")
p = producer()
for at in 1000, 3000, 2000:
    p.produce(topic, value="v", partition=0, timestamp=at)
    p.flush(30)
writer = transactional("ra-writer")
writer.init_transactions(30)
writer.begin_transaction()
writer.produce(topic, value="open", partition=0, timestamp=5000)
writer.flush(30)
at = TopicPartition(topic, 0)
for isolation in IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED:
    for name, spec in (
        ("earliest", OffsetSpec.earliest()),
        ("latest", OffsetSpec.latest()),
        ("of the greatest time", OffsetSpec.max_timestamp()),
        ("at 0", OffsetSpec.for_timestamp(0)),
        ("at 1500", OffsetSpec.for_timestamp(1500)),
        ("at 4000", OffsetSpec.for_timestamp(4000)),
        ("at 9000", OffsetSpec.for_timestamp(9000)),
    ):
        attempt(
            f"{isolation.name} {name}",
            lambda: admin.list_offsets({at: spec}, isolation_level=isolation)[at].result(30),
            show=lambda r: (r.offset, r.timestamp, r.leader_epoch),
        )
missing = TopicPartition("ra-nothing", 0)
attempt(
    "of what is not there",
    lambda: admin.list_offsets({missing: OffsetSpec.latest()}, request_timeout=5)[missing].result(30),
    show=lambda r: r.offset,
)


def delete(of, offset, **patience):
    where = TopicPartition(of, 0, offset)
    attempt(
        f"delete records of {of} to {offset}",
        lambda: next(iter(admin.delete_records([where], **patience).values())).result(30),
        show=lambda r: r.low_watermark,
    )


for offset in 2, 1, 9, -1:
    delete(topic, offset)
delete("ra-nothing", 1, operation_timeout=2, request_timeout=4)
writer.commit_transaction(30)
until("the end marker is there", lambda: ends(topic) == [5, 5])
delete(topic, -1)
attempt("earliest", lambda: admin.list_offsets({at: OffsetSpec.earliest()})[at].result(30), show=lambda r: r.offset)

section("groups")
live = {}
for protocol in "classic", "consumer":
    c = consumer(f"ra-{protocol}", group_protocol=protocol, client_id=f"client-{protocol}")
    c.subscribe([topic])
    read(c, (topic, 0), (topic, 1))
    c.commit(offsets=[TopicPartition(topic, 0, 1), TopicPartition(topic, 1, 0)], asynchronous=False)
    live[protocol] = c


def groups(**kwargs):
    told = admin.list_consumer_groups(**kwargs).result(30)
    return sorted(
        (g.group_id, g.is_simple_consumer_group, g.state.name, g.type.name)
        for g in told.valid
        if g.group_id.startswith("ra-")
    )


def offsets(group, *partitions, **kwargs):
    wanted = ConsumerGroupTopicPartitions(group, list(partitions) or None)
    return attempt(
        f"offsets of {group}",
        lambda: admin.list_consumer_group_offsets([wanted], **kwargs)[group].result(30),
        show=lambda r: sorted(
            (f"{t.topic}-{t.partition}", t.offset, error(t.error) if t.error else "") for t in r.topic_partitions
        ),
    )


def describe(group):
    def show(d):
        members = [
            (
                m.client_id,
                m.host,
                m.group_instance_id,
                sorted(str(p.partition) for p in m.assignment.topic_partitions),
                m.target_assignment and len(m.target_assignment.topic_partitions),
            )
            for m in d.members
        ]
        return (
            d.is_simple_consumer_group,
            d.partition_assignor,
            d.state.name,
            d.type.name,
            d.coordinator is not None,
            members,
        )

    attempt(f"describe {group}", lambda: admin.describe_consumer_groups([group])[group].result(30), show=show)


print("all:", groups())
print("of state Stable:", groups(states={ConsumerGroupState.STABLE}))
print("of state Empty:", groups(states={ConsumerGroupState.EMPTY}))
print("of type consumer:", groups(types={ConsumerGroupType.CONSUMER}))
print("of type classic:", groups(types={ConsumerGroupType.CLASSIC}))
for group in "ra-classic", "ra-consumer", "ra-nobody":
    describe(group)
    offsets(group)
offsets("ra-classic", TopicPartition(topic, 1), TopicPartition(topic, 7), TopicPartition("ra-nothing", 0))


def move(group, offset, topic=topic):
    wanted = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, offset)])
    attempt(
        f"alter {group} to {offset}",
        lambda: admin.alter_consumer_group_offsets([wanted])[group].result(30),
        show=lambda r: [(t.offset, error(t.error) if t.error else "") for t in r.topic_partitions],
    )


def drop(*names):
    each(admin.delete_consumer_groups(list(names)))


for protocol in live:
    move(f"ra-{protocol}", 0)
    drop(f"ra-{protocol}")
move("ra-alone", 3)
move("ra-alone", 2, "ra-nothing")
print("all:", groups())
describe("ra-alone")
offsets("ra-alone")
writer.begin_transaction()
writer.send_offsets_to_transaction([TopicPartition(topic, 0, 4)], consumer("ra-alone").consumer_group_metadata(), 30)
offsets("ra-alone", TopicPartition(topic, 0), require_stable=False)
offsets("ra-alone", TopicPartition(topic, 0), require_stable=True)
writer.commit_transaction(30)
until(
    "the offset is stable",
    lambda: (
        admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("ra-alone", [TopicPartition(topic, 0)])])[
            "ra-alone"
        ]
        .result(30)
        .topic_partitions[0]
        .offset
        == 4
    ),
)
offsets("ra-alone", TopicPartition(topic, 0), require_stable=True)
for c in live.values():
    c.close()
print("all:", groups())
for group in "ra-classic", "ra-consumer":
    describe(group)
    move(group, 0)
    offsets(group)
drop("ra-classic", "ra-consumer", "ra-alone", "ra-nobody")
print("all:", groups())

section("users and rights")


def users(*names):
    attempt(
        "describe users",
        lambda: [admin.describe_user_scram_credentials(list(names))[n].result(30) for n in names],
        show=lambda r: [[(i.mechanism.name, i.iterations) for i in u.scram_credential_infos] for u in r],
    )


users("ra-alice")
each(
    admin.alter_user_scram_credentials(
        [
            UserScramCredentialUpsertion(
                "ra-alice", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), b"secret"
            ),
            UserScramCredentialUpsertion("ra-bob", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 10), b"secret"),
        ]
    )
)
until("she is there", lambda: not admin.describe_user_scram_credentials(["ra-alice"])["ra-alice"].exception(30))
users("ra-alice")
each(admin.alter_user_scram_credentials([UserScramCredentialDeletion("ra-alice", ScramMechanism.SCRAM_SHA_512)]))
each(admin.alter_user_scram_credentials([UserScramCredentialDeletion("ra-alice", ScramMechanism.SCRAM_SHA_256)]))
acl = AclBinding(
    ResourceType.TOPIC,
    topic,
    ResourcePatternType.LITERAL,
    "User:ra-alice",
    "*",
    AclOperation.READ,
    AclPermissionType.ALLOW,
)
attempt("create an ACL", lambda: admin.create_acls([acl])[acl].result(30))
any_acl = AclBindingFilter(
    ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
)
attempt("describe ACLs", lambda: admin.describe_acls(any_acl).result(30), show=len)
attempt("delete ACLs", lambda: admin.delete_acls([any_acl])[any_acl].result(30), show=len)
