// kafkajs: transactions with offsets in them, consumers in both isolation
// levels, groups, and admin calls. What its admin calls "high" is the LSO.
//
// kafkajs.js BOOTSTRAP, with NODE_PATH for the client.

'use strict'

const readline = require('readline')
const {
  Kafka,
  logLevel,
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  ConfigResourceTypes,
  ResourcePatternTypes,
} = require('kafkajs')

const brokers = process.argv[2].split(',')
const kafka = new Kafka({
  clientId: 'kafkajs',
  brokers,
  logLevel: logLevel.NOTHING,
  retry: { initialRetryTime: 100, retries: 12 },
})
const hasty = new Kafka({
  clientId: 'kafkajs',
  brokers,
  logLevel: logLevel.NOTHING,
  retry: { initialRetryTime: 50, retries: 2 },
})
const admin = kafka.admin()
const topic = 'kj-orders'
const target = 'kj-target'
const patience = 60000
const answers = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]()

const pause = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds))

const section = title => console.log(`\n# ${title}`)

/** An error in one line. */
function error(e) {
  const cause = e.cause && e.cause.name !== e.name ? ` caused by ${error(e.cause)}` : ''
  const parts = e.errors ? ` [${e.errors.map(error).join('; ')}]` : ''
  const topics = e.topicPartitions ? ` ${JSON.stringify(e.topicPartitions)}` : ''
  return `${e.name}${e.type ? ' ' + e.type : ''}: ${e.message}${topics}${parts}${cause}`
}

/** Prints what came of a call, and returns its result. */
async function attempt(what, act, show = () => 'ok') {
  try {
    const result = await act()
    console.log(`${what}: ${show(result)}`)
    return result
  } catch (e) {
    console.log(`${what}: ${error(e)}`)
  }
}

/** Polls until something is so. */
async function until(what, ready) {
  for (const end = Date.now() + patience; Date.now() < end;) {
    if (await ready()) return
    await pause(50)
  }
  console.log(`waited in vain until ${what}`)
  process.exit(1)
}

/** low and high of a partition, as the admin client tells. */
async function ends(of, partition = 0) {
  const told = (await admin.fetchTopicOffsets(of)).find(p => p.partition === partition)
  return `low ${told.low} high ${told.high}`
}

async function create(name, numPartitions = 1, replicationFactor = 1, configEntries = []) {
  await admin.createTopics({
    topics: [{ topic: name, numPartitions, replicationFactor, configEntries }],
    waitForLeaders: false,
  })
  await until(`${name} is served`, () =>
    admin.fetchTopicOffsets(name).then(
      () => true,
      () => false,
    ),
  )
}

/** What a group has committed, by partition. */
async function committed(group, ...topics) {
  const told = await admin.fetchOffsets({ groupId: group, topics })
  return told
    .map(t =>
      t.partitions
        .sort((a, b) => a.partition - b.partition)
        .map(p => `${t.topic}-${p.partition}@${p.offset}`)
        .join(' '),
    )
    .join(' ')
}

/** What the client takes for the group's lag; the exporter is then asked for its own figures. */
async function believes(group, of, partition = 0) {
  const high = Number((await admin.fetchTopicOffsets(of)).find(p => p.partition === partition).high)
  const at = Number(
    (await admin.fetchOffsets({ groupId: group, topics: [of] }))[0].partitions.find(p => p.partition === partition)
      .offset,
  )
  console.log(`client: group ${group}, ${of}-${partition}: committed ${at}, LSO ${high}, lag ${high - at}`)
  await answers.next()
}

/** Consumes with a group until so many records have come, and returns the consumer, still running. */
async function consume(group, of, count, options = {}) {
  const seen = {}
  let total = 0
  const consumer = kafka.consumer({ groupId: group, maxWaitTimeInMs: 200, heartbeatInterval: 500, ...options })
  await consumer.connect()
  await consumer.subscribe({ topics: [of], fromBeginning: true })
  await consumer.run({
    autoCommit: options.autoCommit !== false,
    autoCommitThreshold: 1,
    eachMessage: async ({ topic, partition, message }) => {
      const key = `${topic}-${partition}`
      seen[key] = [...(seen[key] || []), `${message.offset}=${message.value}`]
      total++
    },
  })
  await until(`${count} records of ${of} have come to ${group}`, () => total >= count)
  await pause(600) // more would be one too many
  for (const key of Object.keys(seen).sort()) console.log(`${group} read ${key}: ${seen[key].join(' ')}`)
  return consumer
}

async function main() {
  await admin.connect()
  await create(topic, 2, 3)
  await create(target)

  section('transactions')
  const producer = kafka.producer({
    transactionalId: 'kj-one',
    idempotent: true,
    maxInFlightRequests: 1,
    transactionTimeout: 60000,
  })
  await producer.connect()
  let t = await producer.transaction()
  const offsets = result =>
    result
      .map(r => `${r.topicName}-${r.partition}@${r.baseOffset}`)
      .sort()
      .join(' ')
  const send = (by, to, partition, ...values) =>
    attempt(
      `send ${values}`,
      () => by.send({ topic: to, acks: -1, messages: values.map(value => ({ value, partition })) }),
      offsets,
    )
  await send(t, topic, 0, 'a', 'b', 'c')
  console.log('open:', await ends(topic))
  await attempt('a second at the same time', () => producer.transaction())
  await attempt('commit', () => t.commit())
  await until('the end marker is there', async () => (await ends(topic)) === 'low 0 high 4')
  await attempt('send after the commit', () => t.send({ topic, messages: [{ value: 'late' }] }))
  t = await producer.transaction()
  await send(t, topic, 0, 'd', 'e')
  await send(t, topic, 1, 'f')
  await attempt('abort', () => t.abort())
  await until(
    'the end markers are there',
    async () => (await ends(topic)) === 'low 0 high 7' && (await ends(topic, 1)) === 'low 0 high 2',
  )
  t = await producer.transaction()
  await attempt('commit of nothing', () => t.commit())
  t = await producer.transaction()
  await attempt('abort of nothing', () => t.abort())
  console.log('at the end:', await ends(topic), await ends(topic, 1))
  t = await producer.transaction()
  await send(t, topic, 1, 'g')
  await attempt('commit', () => t.commit())

  section('plain and idempotent producers')
  const plain = kafka.producer()
  await plain.connect()
  await send(plain, topic, 1, 'h')
  const idempotent = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
  await idempotent.connect()
  await send(idempotent, topic, 1, 'i', 'j')
  await send(idempotent, topic, 1, 'k')
  const soonTired = hasty.producer()
  await soonTired.connect()
  await attempt('to a topic that is not there', () =>
    soonTired.send({ topic: 'kj-nothing', messages: [{ value: 'x' }] }),
  )
  await attempt(
    'to a partition that is not there',
    () => plain.send({ topic, messages: [{ value: 'x', partition: 9 }] }),
    offsets,
  )
  await attempt('too large', () => plain.send({ topic, messages: [{ value: 'x'.repeat(2000000) }] }))

  section('consumers')
  await (await consume('kj-committed', topic, 8)).disconnect()
  await (await consume('kj-uncommitted', topic, 11, { readUncommitted: true })).disconnect()
  console.log('committed:', await committed('kj-committed', topic))
  console.log('committed:', await committed('kj-uncommitted', topic))
  await believes('kj-committed', topic)
  await believes('kj-committed', topic, 1)

  section('offsets in a transaction')
  t = await producer.transaction()
  await send(t, target, 0, 'from a')
  const moved = offset => ({
    consumerGroupId: 'kj-pipeline',
    topics: [{ topic, partitions: [{ partition: 0, offset }] }],
  })
  await attempt('send offsets', () => t.sendOffsets(moved('3')))
  console.log('before the end:', await committed('kj-pipeline', topic))
  await attempt('commit', () => t.commit())
  await until('the offset is there', async () => (await committed('kj-pipeline', topic)).includes(`${topic}-0@3`))
  console.log('committed:', await committed('kj-pipeline', topic))
  await believes('kj-pipeline', topic)
  t = await producer.transaction()
  await attempt('send offsets', () => t.sendOffsets(moved('7')))
  await attempt('abort', () => t.abort())
  console.log('committed:', await committed('kj-pipeline', topic))
  await attempt('read by the pipeline', async () => (await consume('kj-pipeline', topic, 5)).disconnect())
  console.log('committed:', await committed('kj-pipeline', topic))
  t = await producer.transaction()
  await send(t, topic, 0, 'held')
  await send(plain, topic, 0, 'behind')
  console.log('held back:', await ends(topic))
  await believes('kj-pipeline', topic)
  await attempt('abort', () => t.abort())
  await until('the end marker is there', async () => (await ends(topic)) === 'low 0 high 10')

  section('fenced and timed out')
  const first = kafka.producer({ transactionalId: 'kj-fenced', idempotent: true, maxInFlightRequests: 1 })
  await first.connect()
  const of = await first.transaction()
  await send(of, target, 0, 'of the first')
  const second = kafka.producer({ transactionalId: 'kj-fenced', idempotent: true, maxInFlightRequests: 1 })
  await second.connect()
  t = await second.transaction()
  await send(t, target, 0, 'of the second')
  await attempt('commit of the second', () => t.commit())
  await attempt('commit of the first', () => of.commit())
  const late = kafka.producer({
    transactionalId: 'kj-late',
    idempotent: true,
    maxInFlightRequests: 1,
    transactionTimeout: 1000,
  })
  await late.connect()
  t = await late.transaction()
  await send(t, target, 0, 'late')
  await until('it has timed out', async () => (await ends(target)) === 'low 0 high 8')
  await attempt('commit', () => t.commit())
  const hour = kafka.producer({
    transactionalId: 'kj-hour',
    idempotent: true,
    maxInFlightRequests: 1,
    transactionTimeout: 3600000,
  })
  await hour.connect()
  await attempt('a timeout of an hour', () => hour.transaction())
  for (const p of [producer, plain, idempotent, first, second, late, hour, soonTired]) await p.disconnect()
  await (await consume('kj-target', target, 2)).disconnect()
  console.log('at the end:', await ends(target))

  section('groups')
  const one = await consume('kj-shared', topic, 8)
  const joined = []
  const two = kafka.consumer({ groupId: 'kj-shared', maxWaitTimeInMs: 200, heartbeatInterval: 500 })
  two.on(two.events.GROUP_JOIN, e => joined.push(e.payload.memberAssignment[topic] || []))
  await two.connect()
  await two.subscribe({ topics: [topic] })
  await two.run({ eachMessage: async () => {} })
  await until('both have a partition', () => joined.some(partitions => partitions.length === 1))
  const described = async group => {
    const { groups } = await admin.describeGroups([group])
    return groups
      .map(
        g =>
          `${g.state} ${g.errorCode} ${g.protocolType} ${g.protocol} ${g.members
            .map(m => m.clientId + ' ' + m.clientHost)
            .sort()
            .join(', ')}`,
      )
      .join('; ')
  }
  await until('the group is stable', async () => (await described('kj-shared')).startsWith('Stable'))
  console.log(await described('kj-shared'))
  await attempt('delete while it is in use', () => admin.deleteGroups(['kj-shared']))
  await attempt('set offsets while it is in use', () =>
    admin.setOffsets({ groupId: 'kj-shared', topic, partitions: [{ partition: 0, offset: '0' }] }),
  )
  await one.disconnect()
  await two.disconnect()
  console.log(await described('kj-shared'))
  console.log(await described('kj-nobody'))
  await attempt('set offsets', () =>
    admin.setOffsets({ groupId: 'kj-shared', topic, partitions: [{ partition: 0, offset: '2' }] }),
  )
  console.log('committed:', await committed('kj-shared', topic))
  await attempt('reset offsets', () => admin.resetOffsets({ groupId: 'kj-shared', topic, earliest: true }))
  console.log('committed:', await committed('kj-shared', topic))
  await attempt('reset offsets to the end', () => admin.resetOffsets({ groupId: 'kj-shared', topic }))
  console.log('committed:', await committed('kj-shared', topic))
  console.log(
    'resolved:',
    JSON.stringify(await admin.fetchOffsets({ groupId: 'kj-shared', topics: [topic], resolveOffsets: true })),
  )
  console.log('of nobody:', await committed('kj-nobody', topic))
  console.log(
    'list:',
    JSON.stringify(
      (await admin.listGroups()).groups
        .filter(g => g.groupId.startsWith('kj-'))
        .sort((a, b) => (a.groupId < b.groupId ? -1 : 1)),
    ),
  )
  await attempt('delete', () => admin.deleteGroups(['kj-shared']), JSON.stringify)
  await attempt('delete what is not there', () => admin.deleteGroups(['kj-nobody']))

  section('admin')
  const soon = hasty.admin()
  await soon.connect()
  await attempt('create again', () => admin.createTopics({ topics: [{ topic }] }))
  await attempt('create what is wrong', () =>
    admin.createTopics({
      topics: [{ topic: 'kj-many', numPartitions: 1, replicationFactor: 9 }, { topic: 'kj/name' }],
    }),
  )
  await attempt('create what is wrong in its configuration', () =>
    admin.createTopics({ topics: [{ topic: 'kj-config', configEntries: [{ name: 'retention.ms', value: 'soon' }] }] }),
  )
  await attempt('more partitions', () => admin.createPartitions({ topicPartitions: [{ topic: target, count: 2 }] }))
  await attempt('as many partitions', () => admin.createPartitions({ topicPartitions: [{ topic: target, count: 2 }] }))
  await until(
    'there are two',
    async () => (await admin.fetchTopicMetadata({ topics: [target] })).topics[0].partitions.length === 2,
  )
  const metadata = await admin.fetchTopicMetadata({ topics: [topic] })
  console.log(
    metadata.topics
      .map(
        m =>
          `${m.name} ${m.partitions.map(p => `${p.partitionId} ${p.replicas.length} ${p.isr.length} ${p.partitionErrorCode}`).sort()}`,
      )
      .join('; '),
  )
  await attempt('metadata of what is not there', () => soon.fetchTopicMetadata({ topics: ['kj-nothing'] }))
  console.log(
    'topics:',
    (await admin.listTopics())
      .filter(name => name.startsWith('kj-'))
      .sort()
      .join(' '),
  )
  const cluster = await admin.describeCluster()
  console.log(
    'cluster:',
    cluster.brokers
      .map(b => b.nodeId)
      .sort()
      .join(' '),
    cluster.clusterId.length,
  )
  const at = (when, stamp) =>
    attempt(
      `by time, ${when}`,
      () => admin.fetchTopicOffsetsByTimestamp(topic, stamp),
      told =>
        told
          .sort((a, b) => a.partition - b.partition)
          .map(p => `${p.partition} ${p.offset}`)
          .join(', '),
    )
  await at('the first', 0)
  await at('in an hour', Date.now() + 3600000)
  const config = await admin.describeConfigs({
    includeSynonyms: true,
    resources: [
      {
        type: ConfigResourceTypes.TOPIC,
        name: topic,
        configNames: ['retention.ms', 'cleanup.policy', 'min.insync.replicas'],
      },
    ],
  })
  for (const e of config.resources[0].configEntries.sort((a, b) => (a.configName < b.configName ? -1 : 1)))
    console.log(JSON.stringify(e))
  await attempt('alter', () =>
    admin.alterConfigs({
      validateOnly: false,
      resources: [
        { type: ConfigResourceTypes.TOPIC, name: topic, configEntries: [{ name: 'retention.ms', value: '1000' }] },
      ],
    }),
  )
  await attempt('delete records', () =>
    admin.deleteTopicRecords({ topic: target, partitions: [{ partition: 0, offset: '3' }] }),
  )
  console.log('then:', await ends(target))
  await soon.fetchTopicOffsets(target)
  await attempt('delete records beyond the end', () =>
    soon.deleteTopicRecords({ topic: target, partitions: [{ partition: 0, offset: '300' }] }),
  )
  await attempt('delete records to the end', () =>
    admin.deleteTopicRecords({ topic: target, partitions: [{ partition: 0, offset: '-1' }] }),
  )
  console.log('then:', await ends(target))
  const acl = {
    resourceType: AclResourceTypes.TOPIC,
    resourceName: topic,
    resourcePatternType: ResourcePatternTypes.LITERAL,
    principal: 'User:kj',
    host: '*',
    operation: AclOperationTypes.READ,
    permissionType: AclPermissionTypes.ALLOW,
  }
  await attempt('create an ACL', () => admin.createAcls({ acl: [acl] }))
  await attempt('describe ACLs', () => admin.describeAcls(acl))
  const lost = (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions.find(p => p.partitionId === 0)
  const others = cluster.brokers
    .map(b => b.nodeId)
    .filter(id => id !== lost.leader)
    .sort()
  await attempt('reassign', () =>
    admin.alterPartitionReassignments({
      topics: [{ topic, partitionAssignment: [{ partition: 0, replicas: others }] }],
    }),
  )
  await until(
    'it is done',
    async () => (await admin.listPartitionReassignments({ topics: [{ topic, partitions: [0] }] })).topics.length === 0,
  )
  await until('it has moved', async () =>
    others.includes(
      (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions.find(p => p.partitionId === 0).leader,
    ),
  )
  console.log('after it:', await ends(topic))
  await attempt('reassign what is not there', () =>
    admin.alterPartitionReassignments({
      topics: [{ topic, partitionAssignment: [{ partition: 9, replicas: others }] }],
    }),
  )
  await attempt('delete a topic', () => admin.deleteTopics({ topics: [target] }))
  await attempt('delete what is not there', () => soon.deleteTopics({ topics: ['kj-nothing'] }))
  await soon.disconnect()
  await admin.disconnect()
}

main().then(
  () => process.exit(0),
  e => {
    console.log(`ended by ${error(e)}\n${e.stack}`)
    process.exit(1)
  },
)
