package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/controller"
)

// handler is one API: how it is served, and how a request is answered that
// fails as a whole (Kafka's getErrorResponse).
type handler struct {
	serve  func(*call, kmsg.Request)
	refuse func(kmsg.Request, int16) kmsg.Response
}

// api makes a handler of functions that know the API's own types. refuse may
// return nil where there is nothing to answer.
func api[Q kmsg.Request](serve func(*call, Q), refuse func(Q, int16) kmsg.Response) handler {
	return handler{
		serve:  func(c *call, req kmsg.Request) { serve(c, req.(Q)) },
		refuse: func(req kmsg.Request, code int16) kmsg.Response { return refuse(req.(Q), code) },
	}
}

// handlers are all APIs that the simulator has.
var handlers = map[int16]handler{
	int16(kmsg.Produce):                      api((*call).produce, refuseProduce),
	int16(kmsg.Fetch):                        api((*call).fetch, refuseFetch),
	int16(kmsg.ListOffsets):                  api((*call).listOffsets, refuseListOffsets),
	int16(kmsg.Metadata):                     api((*call).metadata, refuseMetadata),
	int16(kmsg.OffsetCommit):                 api((*call).offsetCommit, refuseOffsetCommit),
	int16(kmsg.OffsetFetch):                  api((*call).offsetFetch, refuseOffsetFetch),
	int16(kmsg.FindCoordinator):              api((*call).findCoordinator, refuseFindCoordinator),
	int16(kmsg.JoinGroup):                    api((*call).joinGroup, refuseJoinGroup),
	int16(kmsg.Heartbeat):                    api((*call).heartbeat, refuseHeartbeat),
	int16(kmsg.LeaveGroup):                   api((*call).leaveGroup, refuseLeaveGroup),
	int16(kmsg.SyncGroup):                    api((*call).syncGroup, refuseSyncGroup),
	int16(kmsg.DescribeGroups):               api((*call).describeGroups, refuseDescribeGroups),
	int16(kmsg.ListGroups):                   api((*call).listGroups, refuseListGroups),
	int16(kmsg.SASLHandshake):                api((*call).saslHandshake, refuseSASLHandshake),
	int16(kmsg.ApiVersions):                  api((*call).apiVersions, refuseAPIVersions),
	int16(kmsg.CreateTopics):                 api((*call).createTopics, refuseCreateTopics),
	int16(kmsg.DeleteTopics):                 api((*call).deleteTopics, refuseDeleteTopics),
	int16(kmsg.DeleteRecords):                api((*call).deleteRecords, refuseDeleteRecords),
	int16(kmsg.InitProducerID):               api((*call).initProducerID, refuseInitProducerID),
	int16(kmsg.OffsetForLeaderEpoch):         api((*call).offsetForLeaderEpoch, refuseOffsetForLeaderEpoch),
	int16(kmsg.AddPartitionsToTxn):           api((*call).addPartitionsToTxn, refuseAddPartitionsToTxn),
	int16(kmsg.AddOffsetsToTxn):              api((*call).addOffsetsToTxn, refuseAddOffsetsToTxn),
	int16(kmsg.EndTxn):                       api((*call).endTxn, refuseEndTxn),
	int16(kmsg.WriteTxnMarkers):              api((*call).writeTxnMarkers, refuseWriteTxnMarkers),
	int16(kmsg.TxnOffsetCommit):              api((*call).txnOffsetCommit, refuseTxnOffsetCommit),
	int16(kmsg.DescribeACLs):                 api((*call).describeACLs, refuseDescribeACLs),
	int16(kmsg.CreateACLs):                   api((*call).createACLs, refuseCreateACLs),
	int16(kmsg.DeleteACLs):                   api((*call).deleteACLs, refuseDeleteACLs),
	int16(kmsg.DescribeConfigs):              api((*call).describeConfigs, refuseDescribeConfigs),
	int16(kmsg.DescribeLogDirs):              api((*call).describeLogDirs, refuseDescribeLogDirs),
	int16(kmsg.SASLAuthenticate):             api((*call).saslAuthenticate, refuseSASLAuthenticate),
	int16(kmsg.CreatePartitions):             api((*call).createPartitions, refuseCreatePartitions),
	int16(kmsg.DeleteGroups):                 api((*call).deleteGroups, refuseDeleteGroups),
	int16(kmsg.ElectLeaders):                 api((*call).electLeaders, refuseElectLeaders),
	int16(kmsg.IncrementalAlterConfigs):      api((*call).incrementalAlterConfigs, refuseIncrementalAlterConfigs),
	int16(kmsg.AlterPartitionAssignments):    api((*call).alterPartitionReassignments, refuseAlterPartitionReassignments),
	int16(kmsg.ListPartitionReassignments):   api((*call).listPartitionReassignments, refuseListPartitionReassignments),
	int16(kmsg.OffsetDelete):                 api((*call).offsetDelete, refuseOffsetDelete),
	int16(kmsg.DescribeUserSCRAMCredentials): api((*call).describeUserSCRAMCredentials, refuseDescribeUserSCRAMCredentials),
	int16(kmsg.AlterUserSCRAMCredentials):    api((*call).alterUserSCRAMCredentials, refuseAlterUserSCRAMCredentials),
	int16(kmsg.DescribeCluster):              api((*call).describeCluster, refuseDescribeCluster),
	int16(kmsg.DescribeProducers):            api((*call).describeProducers, refuseDescribeProducers),
	int16(kmsg.DescribeTransactions):         api((*call).describeTransactions, refuseDescribeTransactions),
	int16(kmsg.ListTransactions):             api((*call).listTransactions, refuseListTransactions),
	int16(kmsg.ConsumerGroupHeartbeat):       api((*call).consumerGroupHeartbeat, refuseConsumerGroupHeartbeat),
	int16(kmsg.ConsumerGroupDescribe):        api((*call).consumerGroupDescribe, refuseConsumerGroupDescribe),
	int16(kmsg.DescribeTopicPartitions):      api((*call).describeTopicPartitions, refuseDescribeTopicPartitions),
	int16(kmsg.ShareGroupHeartbeat):          api((*call).shareGroupHeartbeat, refuseShareGroupHeartbeat),
	int16(kmsg.ShareGroupDescribe):           api((*call).shareGroupDescribe, refuseShareGroupDescribe),
	int16(kmsg.ShareFetch):                   api((*call).shareFetch, refuseShareFetch),
	int16(kmsg.ShareAcknowledge):             api((*call).shareAcknowledge, refuseShareAcknowledge),
	int16(kmsg.StreamsGroupHeartbeat):        api((*call).streamsGroupHeartbeat, refuseStreamsGroupHeartbeat),
	int16(kmsg.StreamsGroupDescribe):         api((*call).streamsGroupDescribe, refuseStreamsGroupDescribe),
	int16(kmsg.AlterConfigs):                 api((*call).alterConfigs, refuseAlterConfigs),
	int16(kmsg.AlterReplicaLogDirs):          api((*call).alterReplicaLogDirs, refuseAlterReplicaLogDirs),
	int16(kmsg.CreateDelegationToken):        api((*call).createDelegationToken, refuseCreateDelegationToken),
	int16(kmsg.RenewDelegationToken):         api((*call).renewDelegationToken, refuseRenewDelegationToken),
	int16(kmsg.ExpireDelegationToken):        api((*call).expireDelegationToken, refuseExpireDelegationToken),
	int16(kmsg.DescribeDelegationToken):      api((*call).describeDelegationToken, refuseDescribeDelegationToken),
	int16(kmsg.DescribeClientQuotas):         api((*call).describeClientQuotas, refuseDescribeClientQuotas),
	int16(kmsg.AlterClientQuotas):            api((*call).alterClientQuotas, refuseAlterClientQuotas),
	int16(kmsg.DescribeQuorum):               api((*call).describeQuorum, refuseDescribeQuorum),
	int16(kmsg.UpdateFeatures):               api((*call).updateFeatures, refuseUpdateFeatures),
	int16(kmsg.UnregisterBroker):             api((*call).unregisterBroker, refuseUnregisterBroker),
	int16(kmsg.ListConfigResources):          api((*call).listConfigResources, refuseListConfigResources),
	int16(kmsg.AddRaftVoter):                 api((*call).addRaftVoter, refuseAddRaftVoter),
	int16(kmsg.RemoveRaftVoter):              api((*call).removeRaftVoter, refuseRemoveRaftVoter),
	int16(kmsg.DescribeShareGroupOffsets):    api((*call).describeShareGroupOffsets, refuseDescribeShareGroupOffsets),
	int16(kmsg.AlterShareGroupOffsets):       api((*call).alterShareGroupOffsets, refuseAlterShareGroupOffsets),
	int16(kmsg.DeleteShareGroupOffsets):      api((*call).deleteShareGroupOffsets, refuseDeleteShareGroupOffsets),
}

// call is one request being answered. It belongs to events.
type call struct {
	server *Server
	conn   ConnInfo
	// socket is the connection; nil in process.
	socket *connection
	reply  func(kmsg.Response)
	// hangUp closes the connection instead of answering; in process it answers
	// nothing.
	hangUp func()
	// ownsRequest says that nobody else has the memory of the request.
	ownsRequest bool

	handler handler
	request kmsg.Request
}

// handle answers a request, after Intercept.
func (s *Server) handle(c *call, req kmsg.Request) {
	h, ok := handlers[req.Key()]
	if !ok {
		panic("wire: " + kmsg.NameForKey(req.Key()) + " is offered but has no handler")
	}
	c.handler, c.request = h, req
	s.intercept(c, func() { h.serve(c, req) })
}

// intercept lets Intercept have a request before it is served.
func (s *Server) intercept(c *call, serve func()) {
	if s.broker.Intercept == nil {
		serve()
		return
	}
	s.broker.Intercept(c.conn, c.request, serve, c.refuse)
}

// send answers with a response.
func (c *call) send(resp kmsg.Response) {
	resp.SetVersion(c.request.GetVersion())
	c.reply(resp)
}

// refuse answers with an error for the request as a whole. Where the response
// is nothing but an error, nil is success.
func (c *call) refuse(err error) {
	if resp := c.handler.refuse(c.request, codeOf(err)); resp != nil {
		c.send(resp)
		return
	}
	c.reply(nil)
}

func (c *call) broker() *Broker { return c.server.broker }

func (c *call) cluster() Cluster { return c.server.broker.Cluster }

func (c *call) image() *controller.Image { return c.server.broker.Cluster.Image() }
