package rights

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
)

var mine = kmsg.StringPtr("mine")

// nobodyReads is an ACL for a user that there is not.
var nobodyReads = kmsg.CreateACLsRequestCreation{
	ResourceType: kmsg.ACLResourceTypeTopic, ResourceName: "orders", ResourcePatternType: kmsg.ACLResourcePatternTypeLiteral,
	Principal: "User:nobody", Host: "*", Operation: kmsg.ACLOperationRead, PermissionType: kmsg.ACLPermissionTypeAllow,
}

// createdACLs shows the results of CreateAcls in order.
func createdACLs(resp kmsg.Response) string {
	var lines []string
	for _, r := range resp.(*kmsg.CreateACLsResponse).Results {
		lines = append(lines, fmt.Sprint(r.ErrorCode, " ", text(r.ErrorMessage)))
	}
	return strings.Join(lines, "; ")
}

// text is a nullable text.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// table lists what each API asks for, in the order of their numbers.
var table = []row{
	{
		ask:  func(*world) kmsg.Request { return produce("orders", commitlog.Plainly(), nil) },
		want: []answer{{"", "29"}, {"DESCRIBE topic orders", "29"}, {"WRITE topic orders", "0"}},
	},
	{
		name: "to a topic that does not exist",
		ask:  func(*world) kmsg.Request { return produce("missing", commitlog.Plainly(), nil) },
		want: []answer{{"", "29"}, {"WRITE topic missing", "3"}},
	},
	{
		name: "in a transaction",
		ask:  func(*world) kmsg.Request { return produce("orders", unknownProducer, mine) },
		want: []answer{{"", "53"}, {"DESCRIBE id mine", "53"}, {"WRITE id mine", "29"}, {"WRITE topic orders", "49"}},
	},
	{
		ask:  func(*world) kmsg.Request { return fetch(-1) },
		want: []answer{{"", "0 29"}, {"DESCRIBE topic orders", "0 29"}, {"READ topic orders", "0 0"}},
	},
	{
		name: "by a replica",
		ask:  func(*world) kmsg.Request { return fetch(7) },
		want: []answer{{"", "0 29"}, {"READ topic orders", "0 29"}, {"CLUSTER_ACTION cluster", "0 6"}},
	},
	{
		name: "high watermark",
		ask:  func(*world) kmsg.Request { return listOffsets(-1, -1) },
		want: []answer{{"", "29"}, {"DESCRIBE topic orders", "0"}},
	},
	{
		name: "log end offset",
		ask:  func(*world) kmsg.Request { return listOffsets(-2, -1) },
		want: []answer{{"", "29"}, {"CLUSTER_ACTION cluster", "29"}, {"DESCRIBE topic orders", "0"}},
	},
	{
		name: "by timestamp",
		ask:  func(*world) kmsg.Request { return listOffsets(-1, 1767225600000) },
		want: []answer{{"", "29"}, {"WRITE topic orders", "0"}},
	},
	{
		name: "brokers", ask: func(*world) kmsg.Request { return metadata([]string{}...) },
		show: func(resp kmsg.Response) string {
			return fmt.Sprint(len(resp.(*kmsg.MetadataResponse).Brokers), " broker")
		},
		want: []answer{{"", "1 broker"}},
	},
	{
		name: "all topics", ask: func(*world) kmsg.Request { return metadata() }, show: topicsOf,
		want: []answer{{"", "none"}, {"DESCRIBE cluster", "none"}, {"DESCRIBE topic orders", "[orders 0]"}, {"ALTER topic hidden", "[hidden 0 orders 0]"}},
	},
	{
		name: "of a topic", ask: func(*world) kmsg.Request { return metadata("orders", "missing") }, show: topicsOf,
		want: []answer{
			{"", "[missing 29 orders 29]"}, {"CREATE topic orders", "[missing 29 orders 29]"},
			{"DESCRIBE topic orders", "[missing 29 orders 0]"}, {"DESCRIBE topic missing", "[missing 3 orders 0]"},
		},
	},
	{
		name: "by id",
		ask: func(w *world) kmsg.Request {
			req := metadata([]string{}...)
			req.Topics = []kmsg.MetadataRequestTopic{{TopicID: w.ids["orders"]}}
			return req
		},
		show: topicsOf,
		want: []answer{{"", "[null 29]"}, {"DESCRIBE topic orders", "[orders 0]"}},
	},
	{
		name: "authorized operations",
		ask: func(*world) kmsg.Request {
			req := metadata("orders")
			req.Version, req.IncludeTopicAuthorizedOperations, req.IncludeClusterAuthorizedOperations = 10, true, true
			return req
		},
		show: func(resp kmsg.Response) string {
			got := resp.(*kmsg.MetadataResponse)
			return "topic " + operations(got.Topics[0].AuthorizedOperations) + " cluster " + operations(got.AuthorizedOperations)
		},
		want: []answer{
			{"", "topic not told cluster none"}, {"READ topic orders", "topic [DESCRIBE READ] cluster none"},
			{"ALL topic orders", "topic [ALTER ALTER_CONFIGS CREATE DELETE DESCRIBE DESCRIBE_CONFIGS READ WRITE] cluster none"},
			{"ALTER cluster", "topic [ALTER ALTER_CONFIGS CREATE DELETE DESCRIBE DESCRIBE_CONFIGS READ WRITE] cluster [ALTER DESCRIBE]"},
		},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrOffsetCommitRequest()
			req.Version, req.Group, req.Generation = 9, "committed", -1
			p := kmsg.NewOffsetCommitRequestTopicPartition()
			req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "orders", Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}}}
			return req
		},
		want: []answer{{"", "30"}, {"DESCRIBE group committed", "30"}, {"READ group committed", "29"}, {"READ topic orders", "0"}},
	},
	{
		name: "all topics", ask: func(*world) kmsg.Request { return offsetFetch("g") }, show: fetchedTopics,
		want: []answer{
			{"", "30 none"}, {"DESCRIBE cluster", "30 none"}, {"DESCRIBE group g", "0 none"}, {"DESCRIBE topic orders", "0 [orders 0]"},
		},
	},
	{
		name: "of a topic", ask: func(*world) kmsg.Request { return offsetFetch("g", "orders", "hidden") }, show: fetchedTopics,
		want: []answer{{"", "30 none"}, {"READ group g", "0 [hidden 29 orders 29]"}, {"DESCRIBE topic orders", "0 [hidden 29 orders 0]"}},
	},
	{
		name: "of a group that does not exist", ask: func(*world) kmsg.Request { return offsetFetch("missing") }, show: fetchedTopics,
		want: []answer{{"", "30 none"}, {"DESCRIBE group missing", "0 none"}},
	},
	{
		name: "of a group", ask: func(*world) kmsg.Request { return coordinator(0, "g") },
		want: []answer{{"", "0 30"}, {"DESCRIBE cluster", "0 30"}, {"DESCRIBE group g", "0 0"}},
	},
	{
		name: "of a transactional id", ask: func(*world) kmsg.Request { return coordinator(1, "billing") },
		want: []answer{{"", "0 53"}, {"DESCRIBE id billing", "0 0"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrJoinGroupRequest()
			req.Group, req.SessionTimeoutMillis, req.RebalanceTimeoutMillis, req.ProtocolType = "joined", 10000, 10000, "consumer"
			req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
			return req
		},
		want: []answer{{"", "30"}, {"DESCRIBE group joined", "30"}, {"READ group joined", "79"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrHeartbeatRequest()
			req.Group, req.MemberID = "g", "nobody"
			return req
		},
		want: []answer{{"", "30"}, {"READ group g", "25"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrLeaveGroupRequest()
			req.Group = "g"
			req.Members = []kmsg.LeaveGroupRequestMember{{MemberID: "nobody"}}
			return req
		},
		want: []answer{{"", "30"}, {"READ group g", "0 25"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrSyncGroupRequest()
			req.Group, req.MemberID, req.Generation = "g", "nobody", 1
			req.ProtocolType, req.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
			return req
		},
		want: []answer{{"", "30"}, {"READ group g", "25"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrDescribeGroupsRequest()
			req.Version, req.Groups = 6, []string{"g", "missing"} // older ones have no error for a missing group
			return req
		},
		want: []answer{{"", "30 30"}, {"DESCRIBE cluster", "30 30"}, {"DESCRIBE group missing", "30 69"}, {"DESCRIBE group g", "0 69"}},
	},
	{
		name: "authorized operations",
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrDescribeGroupsRequest()
			req.Groups, req.IncludeAuthorizedOperations = []string{"g"}, true
			return req
		},
		show: func(resp kmsg.Response) string {
			return operations(resp.(*kmsg.DescribeGroupsResponse).Groups[0].AuthorizedOperations)
		},
		want: []answer{{"", "not told"}, {"READ group g", "[DESCRIBE READ]"}},
	},
	{
		ask: func(*world) kmsg.Request { return kmsg.NewPtrListGroupsRequest() }, show: groups,
		want: []answer{{"", "0 none"}, {"DELETE group g", "0 [g]"}},
	},
	{
		name: "with the cluster's right",
		ask:  func(*world) kmsg.Request { return kmsg.NewPtrListGroupsRequest() }, show: groups,
		want: []answer{{"", "0 none"}, {"DESCRIBE cluster", "0 [g h]"}},
	},
	{
		name: "after the login",
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrSASLHandshakeRequest()
			req.Version, req.Mechanism = 1, "PLAIN"
			return req
		},
		want: []answer{{"", "34"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrApiVersionsRequest()
			req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = 3, "rights", "1"
			return req
		},
		want: []answer{{"", "0"}},
	},
	{
		ask:  func(*world) kmsg.Request { return createTopic("new") },
		want: []answer{{"", "29 0"}, {"CREATE topic new", "0 29"}, {"DESCRIBE_CONFIGS topic new", "0 0"}},
	},
	{
		name: "with the cluster's right",
		ask:  func(*world) kmsg.Request { return createTopic("new") },
		want: []answer{{"", "29 0"}, {"CREATE cluster", "0 29"}, {"ALTER_CONFIGS topic new", "0 0"}},
	},
	{
		name: "that does not exist",
		ask:  func(*world) kmsg.Request { return deleteTopic("missing", [16]byte{}) }, show: deletedTopics,
		want: []answer{{"", "[missing 29]"}, {"DESCRIBE topic missing", "[missing 3]"}},
	},
	{
		name: "that is seen",
		ask:  func(*world) kmsg.Request { return deleteTopic("orders", [16]byte{}) }, show: deletedTopics,
		want: []answer{{"", "[orders 29]"}, {"DESCRIBE topic orders", "[orders 29]"}},
	},
	{
		name: "by id",
		ask:  func(w *world) kmsg.Request { return deleteTopic("", w.ids["orders"]) }, show: deletedTopics,
		want: []answer{{"", "[null 29]"}, {"DESCRIBE topic orders", "[orders 29]"}},
	},
	{
		name: "with the cluster's right",
		ask:  func(*world) kmsg.Request { return deleteTopic("missing", [16]byte{}) }, show: deletedTopics,
		want: []answer{{"", "[missing 29]"}, {"DELETE cluster", "[missing 3]"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrDeleteRecordsRequest()
			req.TimeoutMillis = 10000
			req.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "orders", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: 0}}}}
			return req
		},
		want: []answer{{"", "29"}, {"READ topic orders", "29"}, {"DELETE topic orders", "0"}},
	},
	{
		name: "of a transactional id",
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrInitProducerIDRequest()
			req.TransactionalID, req.TransactionTimeoutMillis = kmsg.StringPtr("new"), 60000
			return req
		},
		want: []answer{{"", "53"}, {"DESCRIBE id new", "53"}, {"WRITE id new", "0"}},
	},
	{
		name: "of an idempotent producer",
		ask:  func(*world) kmsg.Request { return kmsg.NewPtrInitProducerIDRequest() },
		want: []answer{{"", "31"}, {"READ topic orders", "31"}, {"WRITE topic missing", "0"}},
	},
	{
		name: "with the cluster's right",
		ask:  func(*world) kmsg.Request { return kmsg.NewPtrInitProducerIDRequest() },
		want: []answer{{"", "31"}, {"IDEMPOTENT_WRITE cluster", "0"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrOffsetForLeaderEpochRequest()
			req.ReplicaID = -1
			p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
			req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: "orders", Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{p}}}
			return req
		},
		want: []answer{{"", "29"}, {"DESCRIBE topic orders", "0"}},
	},
	{
		name: "with the cluster's right",
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrOffsetForLeaderEpochRequest()
			req.ReplicaID = -1
			p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
			req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: "orders", Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{p}}}
			return req
		},
		want: []answer{{"", "29"}, {"CLUSTER_ACTION cluster", "0"}},
	},
	{
		ask:  func(*world) kmsg.Request { return addPartitions("orders") },
		want: []answer{{"", "0 53"}, {"WRITE id mine", "0 29"}, {"WRITE topic orders", "0 49"}},
	},
	{
		name: "of an internal topic",
		ask:  func(*world) kmsg.Request { return addPartitions("__consumer_offsets") },
		want: []answer{{"", "0 53"}, {"WRITE id mine", "0 29"}, {"ALL topic __consumer_offsets", "0 29"}},
	},
	{
		name: "by a broker",
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrAddPartitionsToTxnRequest()
			req.Version = 4
			req.Transactions = []kmsg.AddPartitionsToTxnRequestTransaction{{
				TransactionalID: "mine", ProducerID: 4242424242,
				Topics: []kmsg.AddPartitionsToTxnRequestTransactionTopic{{Topic: "orders", Partitions: []int32{0}}},
			}}
			return req
		},
		want: []answer{{"", "31"}, {"WRITE id mine, WRITE topic orders", "31"}, {"CLUSTER_ACTION cluster", "0 49"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrAddOffsetsToTxnRequest()
			req.TransactionalID, req.ProducerID, req.Group = "mine", 4242424242, "g"
			return req
		},
		want: []answer{{"", "53"}, {"WRITE id mine", "30"}, {"READ group g", "49"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrEndTxnRequest()
			req.TransactionalID, req.ProducerID, req.Commit = "mine", 4242424242, true
			return req
		},
		want: []answer{{"", "53"}, {"DESCRIBE id mine", "53"}, {"WRITE id mine", "49"}},
	},
	{
		ask:  func(*world) kmsg.Request { return markers("missing") },
		want: []answer{{"", "31"}, {"WRITE topic missing", "31"}, {"CLUSTER_ACTION cluster", "3"}},
	},
	{
		name: "with the administrator's right",
		ask:  func(*world) kmsg.Request { return markers("missing") },
		want: []answer{{"", "31"}, {"ALTER cluster", "3"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrTxnOffsetCommitRequest()
			req.Version = 5 // 6 names topics by their ids
			req.TransactionalID, req.ProducerID, req.Group, req.Generation = "mine", 4242424242, "txn-committed", -1
			p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
			req.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: "orders", Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{p}}}
			return req
		},
		want: []answer{
			{"", "53"}, {"WRITE id mine", "30"}, {"READ group txn-committed", "29"}, {"READ topic orders", "49"},
		},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrDescribeACLsRequest()
			req.ResourceType, req.ResourcePatternType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny
			req.Operation, req.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
			return req
		},
		want: []answer{{"", "31"}, {"ALTER_CONFIGS cluster", "31"}, {"DESCRIBE cluster", "0"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrCreateACLsRequest()
			req.Creations = []kmsg.CreateACLsRequestCreation{nobodyReads}
			return req
		},
		want: []answer{{"", "31"}, {"DESCRIBE cluster", "31"}, {"ALTER cluster", "0"}},
	},
	{
		name: "with mistakes",
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrCreateACLsRequest()
			for _, spoil := range []func(*kmsg.CreateACLsRequestCreation){
				func(c *kmsg.CreateACLsRequestCreation) { c.ResourceName = "" },
				func(c *kmsg.CreateACLsRequestCreation) { c.ResourceType = kmsg.ACLResourceTypeCluster },
				func(c *kmsg.CreateACLsRequestCreation) { c.ResourceType = 99 },
				func(c *kmsg.CreateACLsRequestCreation) { c.Operation = 99 },
				func(c *kmsg.CreateACLsRequestCreation) { c.PermissionType = 99 },
				func(c *kmsg.CreateACLsRequestCreation) { c.ResourcePatternType = 99 },
				func(c *kmsg.CreateACLsRequestCreation) { c.Principal = "nobody" },
			} {
				c := nobodyReads
				spoil(&c)
				req.Creations = append(req.Creations, c)
			}
			return req
		},
		show: createdACLs,
		want: []answer{{"ALTER cluster", "42 Invalid empty resource name; 42 The only valid name for the CLUSTER resource is kafka-cluster; " +
			"42 Invalid resourceType UNKNOWN; 42 Invalid operation UNKNOWN; 42 Invalid permissionType UNKNOWN; 42 Invalid patternType UNKNOWN; " +
			"42 Could not parse principal from `nobody` (no colon is present separating the principal type from the principal name)"}},
	},
	{
		name: "with a word for any operation",
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrCreateACLsRequest()
			anything := nobodyReads
			anything.Operation = kmsg.ACLOperationAny
			req.Creations = []kmsg.CreateACLsRequestCreation{nobodyReads, anything}
			return req
		},
		show: createdACLs,
		want: []answer{{"ALTER cluster", "-1 ; -1 "}},
	},
	{
		name: "with a pattern for filters",
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrCreateACLsRequest()
			match := nobodyReads
			match.ResourcePatternType = kmsg.ACLResourcePatternTypeMatch
			req.Creations = []kmsg.CreateACLsRequestCreation{nobodyReads, match}
			return req
		},
		show: createdACLs,
		want: []answer{{"ALTER cluster", "-1 ; -1 "}},
	},
	{
		name: "that are chosen twice",
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrDeleteACLsRequest()
			f := kmsg.DeleteACLsRequestFilter{
				ResourceType: kmsg.ACLResourceTypeTopic, ResourceName: kmsg.StringPtr("new"), ResourcePatternType: kmsg.ACLResourcePatternTypeMatch,
				Principal: kmsg.StringPtr("User:twice"), Operation: kmsg.ACLOperationAny, PermissionType: kmsg.ACLPermissionTypeAny,
			}
			unknown := f
			unknown.Operation = 99
			req.Filters = []kmsg.DeleteACLsRequestFilter{f, unknown, f}
			return req
		},
		show: func(resp kmsg.Response) string {
			var lines []string
			for _, r := range resp.(*kmsg.DeleteACLsResponse).Results {
				lines = append(lines, fmt.Sprint(r.ErrorCode, " ", text(r.ErrorMessage), len(r.MatchingACLs)))
			}
			return strings.Join(lines, "; ")
		},
		want: []answer{{"ALTER cluster", "0 0; 42 Unknown entryFilter.0; 0 0"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrDeleteACLsRequest()
			req.Filters = []kmsg.DeleteACLsRequestFilter{{
				ResourceType: kmsg.ACLResourceTypeAny, ResourcePatternType: kmsg.ACLResourcePatternTypeAny,
				Principal: kmsg.StringPtr("User:absent"), Operation: kmsg.ACLOperationAny, PermissionType: kmsg.ACLPermissionTypeAny,
			}}
			return req
		},
		want: []answer{{"", "31"}, {"ALTER cluster", "0"}},
	},
	{
		name: "of a topic", ask: func(*world) kmsg.Request { return describeConfigs(kmsg.ConfigResourceTypeTopic, "orders") },
		want: []answer{{"", "29"}, {"READ topic orders", "29"}, {"DESCRIBE_CONFIGS topic orders", "0"}},
	},
	{
		name: "of a broker", ask: func(*world) kmsg.Request { return describeConfigs(kmsg.ConfigResourceTypeBroker, "1") },
		want: []answer{{"", "31"}, {"DESCRIBE cluster", "31"}, {"DESCRIBE_CONFIGS cluster", "0"}},
	},
	{
		name: "of a group", feature: "group.version", ask: func(*world) kmsg.Request { return describeConfigs(kmsg.ConfigResourceTypeGroupConfig, "g") },
		want: []answer{{"", "30"}, {"ALTER_CONFIGS group g", "0"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrDescribeLogDirsRequest()
			req.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: "orders", Partitions: []int32{0}}}
			return req
		},
		want: []answer{{"", "31"}, {"DESCRIBE topic orders", "31"}, {"DESCRIBE cluster", "0 0"}},
	},
	{
		name: "after the login",
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrSASLAuthenticateRequest()
			req.SASLAuthBytes = []byte("token")
			return req
		},
		want: []answer{{"", "34"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrCreatePartitionsRequest()
			req.ValidateOnly, req.TimeoutMillis = true, 10000
			t := kmsg.NewCreatePartitionsRequestTopic()
			t.Topic, t.Count = "orders", 1
			req.Topics = append(req.Topics, t)
			return req
		},
		want: []answer{{"", "29"}, {"CREATE topic orders", "29"}, {"ALTER topic orders", "37"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrDeleteGroupsRequest()
			req.Groups = []string{"missing"}
			return req
		},
		want: []answer{{"", "30"}, {"READ group missing", "30"}, {"DELETE group missing", "69"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrElectLeadersRequest()
			req.TimeoutMillis = 10000
			req.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "orders", Partitions: []int32{0}}}
			return req
		},
		show: func(resp kmsg.Response) string { return fmt.Sprint(resp.(*kmsg.ElectLeadersResponse).ErrorCode) },
		want: []answer{{"", "31"}, {"ALTER topic orders", "31"}, {"ALTER cluster", "0"}},
	},
	{
		name: "of a topic",
		ask: func(*world) kmsg.Request {
			return alterConfigs(kmsg.ConfigResourceTypeTopic, "orders", "retention.ms", "1000")
		},
		want: []answer{{"", "29"}, {"ALTER topic orders", "29"}, {"ALTER_CONFIGS topic orders", "0"}},
	},
	{
		name: "of brokers",
		ask: func(*world) kmsg.Request {
			return alterConfigs(kmsg.ConfigResourceTypeBroker, "", "log.retention.ms", "1000")
		},
		want: []answer{{"", "31"}, {"ALTER cluster", "31"}, {"ALTER_CONFIGS cluster", "0"}},
	},
	{
		name: "of a group", feature: "group.version",
		ask: func(*world) kmsg.Request {
			return alterConfigs(kmsg.ConfigResourceTypeGroupConfig, "g", "consumer.session.timeout.ms", "45000")
		},
		want: []answer{{"", "30"}, {"ALTER_CONFIGS group g", "0"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
			req.TimeoutMillis = 10000
			req.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{
				Topic: "orders", Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{}},
			}}
			return req
		},
		show: func(resp kmsg.Response) string {
			return fmt.Sprint(resp.(*kmsg.AlterPartitionAssignmentsResponse).ErrorCode)
		},
		want: []answer{{"", "31"}, {"ALTER topic orders", "31"}, {"ALTER cluster", "0"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrListPartitionReassignmentsRequest()
			req.TimeoutMillis = 10000
			return req
		},
		want: []answer{{"", "31"}, {"DESCRIBE topic orders", "31"}, {"DESCRIBE cluster", "0"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrOffsetDeleteRequest()
			req.Group = "deleted"
			req.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: "orders", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{}}}}
			return req
		},
		want: []answer{{"", "30"}, {"READ group deleted", "30"}, {"DELETE group deleted", "0 29"}, {"READ topic orders", "0 0"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
			req.Users = []kmsg.DescribeUserSCRAMCredentialsRequestUser{{Name: "absent"}}
			return req
		},
		want: []answer{{"", "31 31"}, {"DESCRIBE_CONFIGS cluster", "31 31"}, {"DESCRIBE cluster", "0 91"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
			req.Deletions = []kmsg.AlterUserSCRAMCredentialsRequestDeletion{{Name: "absent", Mechanism: 1}}
			return req
		},
		want: []answer{{"", "31"}, {"DESCRIBE cluster", "31"}, {"ALTER cluster", "91"}},
	},
	{
		name: "with mistakes",
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
			req.Deletions = []kmsg.AlterUserSCRAMCredentialsRequestDeletion{{Name: "a", Mechanism: 2}, {Name: "b", Mechanism: 9}, {Name: "c", Mechanism: 1}}
			for _, u := range []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{
				{Name: "d", Mechanism: 1, Iterations: 4095}, {Name: "e", Mechanism: 2, Iterations: 16385}, {Mechanism: 1, Iterations: 4096},
				{Name: "f", Mechanism: 1, Iterations: 4096}, {Name: "f", Mechanism: 2, Iterations: 4096}, {Name: "g", Mechanism: 9, Iterations: 4096},
			} {
				u.Salt, u.SaltedPassword = []byte("salt"), []byte("salted password")
				req.Upsertions = append(req.Upsertions, u)
			}
			return req
		},
		show: func(resp kmsg.Response) string {
			var lines []string
			for _, r := range resp.(*kmsg.AlterUserSCRAMCredentialsResponse).Results {
				lines = append(lines, fmt.Sprint(r.User, " ", r.ErrorCode, " ", text(r.ErrorMessage)))
			}
			slices.Sort(lines)
			return strings.Join(lines, "; ")
		},
		want: []answer{{"ALTER cluster", " 93 Username must not be empty; a 91 Attempt to delete a user credential that does not exist; " +
			"b 33 Unknown SCRAM mechanism; c 91 Attempt to delete a user credential that does not exist; d 93 Too few iterations; " +
			"e 93 Too many iterations; f 92 A user credential cannot be altered twice in the same request; g 33 Unknown SCRAM mechanism"}},
	},
	{
		name: "twice, and absent",
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
			req.Users = []kmsg.DescribeUserSCRAMCredentialsRequestUser{{Name: "somebody"}, {Name: "absent"}, {Name: "user-0"}, {Name: "user-0"}}
			return req
		},
		show: func(resp kmsg.Response) string {
			var lines []string
			for _, r := range resp.(*kmsg.DescribeUserSCRAMCredentialsResponse).Results {
				lines = append(lines, fmt.Sprint(r.User, " ", r.ErrorCode, " ", text(r.ErrorMessage), r.CredentialInfos))
			}
			slices.Sort(lines)
			return strings.Join(lines, "; ")
		},
		want: []answer{{"DESCRIBE cluster", "absent 91 Attempt to describe a user credential that does not exist: absent[]; somebody 0 [{1 4096 {map[]}}]; " +
			"user-0 92 Cannot describe SCRAM credentials for the same user twice in a single request: user-0[]"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrAlterConfigsRequest()
			value := "1000"
			req.ValidateOnly = true
			req.Resources = []kmsg.AlterConfigsRequestResource{{
				ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "orders",
				Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: "retention.ms", Value: &value}},
			}}
			return req
		},
		want: []answer{{"", "29"}, {"ALTER topic orders", "29"}, {"ALTER_CONFIGS topic orders", "0"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrAlterReplicaLogDirsRequest()
			req.Version = 2
			req.Dirs = []kmsg.AlterReplicaLogDirsRequestDir{{Dir: "/missing", Topics: []kmsg.AlterReplicaLogDirsRequestDirTopic{{Topic: "orders", Partitions: []int32{0}}}}}
			return req
		},
		want: []answer{{"", "31"}, {"ALTER topic orders", "31"}, {"ALTER cluster", "57"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrCreateDelegationTokenRequest()
			req.Version = 2
			return req
		},
		want: []answer{{"", "61"}, {"ALTER cluster", "61"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrRenewDelegationTokenRequest()
			req.Version, req.HMAC = 2, []byte("none")
			return req
		},
		want: []answer{{"", "61"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrExpireDelegationTokenRequest()
			req.Version, req.HMAC = 2, []byte("none")
			return req
		},
		want: []answer{{"", "61"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrDescribeDelegationTokenRequest()
			req.Version = 2
			return req
		},
		want: []answer{{"", "61"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrDescribeClientQuotasRequest()
			req.Version = 1
			return req
		},
		want: []answer{{"", "31"}, {"DESCRIBE cluster", "31"}, {"DESCRIBE_CONFIGS cluster", "0"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrAlterClientQuotasRequest()
			req.Version, req.ValidateOnly = 1, true
			name := "somebody"
			req.Entries = []kmsg.AlterClientQuotasRequestEntry{{
				Entity: []kmsg.AlterClientQuotasRequestEntryEntity{{Type: "user", Name: &name}},
				Ops:    []kmsg.AlterClientQuotasRequestEntryOp{{Key: "producer_byte_rate", Value: 1000}},
			}}
			return req
		},
		want: []answer{{"", "31"}, {"ALTER cluster", "31"}, {"ALTER_CONFIGS cluster", "0"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrDescribeQuorumRequest()
			req.Version = 1
			req.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: "__cluster_metadata", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
			return req
		},
		want: []answer{{"", "31"}, {"DESCRIBE_CONFIGS cluster", "31"}, {"DESCRIBE cluster", "0 0"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrUpdateFeaturesRequest()
			req.Version, req.TimeoutMillis, req.ValidateOnly = 1, 10000, true
			req.FeatureUpdates = []kmsg.UpdateFeaturesRequestFeatureUpdate{{Feature: "no.version", MaxVersionLevel: 1, UpgradeType: 1}}
			return req
		},
		want: []answer{{"", "31"}, {"ALTER_CONFIGS cluster", "31"}, {"ALTER cluster", "95"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrUnregisterBrokerRequest()
			req.BrokerID = 99
			return req
		},
		want: []answer{{"", "31"}, {"DESCRIBE cluster", "31"}, {"ALTER cluster", "102"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrListConfigResourcesRequest()
			req.Version, req.ResourceTypes = 1, []int8{16}
			return req
		},
		want: []answer{{"", "31"}, {"DESCRIBE cluster", "31"}, {"DESCRIBE_CONFIGS cluster", "0"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrAddRaftVoterRequest()
			req.VoterID, req.TimeoutMillis = 99, 10000
			return req
		},
		want: []answer{{"", "31"}, {"DESCRIBE cluster", "31"}, {"ALTER cluster", "42"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrRemoveRaftVoterRequest()
			req.VoterID = 99
			return req
		},
		want: []answer{{"", "31"}, {"DESCRIBE cluster", "31"}, {"ALTER cluster", "42"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrDescribeClusterRequest()
			req.EndpointType, req.IncludeClusterAuthorizedOperations = 1, true
			return req
		},
		show: func(resp kmsg.Response) string {
			got := resp.(*kmsg.DescribeClusterResponse)
			return fmt.Sprint(got.ErrorCode, " ", len(got.Brokers), " broker ", operations(got.ClusterAuthorizedOperations))
		},
		want: []answer{{"", "0 1 broker none"}, {"IDEMPOTENT_WRITE cluster", "0 1 broker none"}, {"DESCRIBE cluster", "0 1 broker [DESCRIBE IDEMPOTENT_WRITE]"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrDescribeProducersRequest()
			req.Topics = []kmsg.DescribeProducersRequestTopic{
				{Topic: "orders", Partitions: []int32{0}}, {Topic: "missing", Partitions: []int32{0}},
			}
			return req
		},
		want: []answer{{"", "29 29"}, {"DESCRIBE topic orders, DESCRIBE topic missing", "29 29"}, {"READ topic orders", "0 29"}, {"READ topic missing", "0 3"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrDescribeTransactionsRequest()
			req.TransactionalIDs = []string{"billing"}
			return req
		},
		show: described,
		want: []answer{
			{"", "53  none"}, {"READ topic orders", "53  none"}, {"DESCRIBE id billing", "0 Ongoing [orders]"}, {"WRITE topic hidden", "0 Ongoing [hidden orders]"},
		},
	},
	{
		name: "without a right on topics",
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrDescribeTransactionsRequest()
			req.TransactionalIDs = []string{"billing"}
			return req
		},
		show: described,
		want: []answer{{"", "53  none"}, {"WRITE id billing", "0 Ongoing none"}},
	},
	{
		name: "of an id that does not exist",
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrDescribeTransactionsRequest()
			req.TransactionalIDs = []string{"absent"}
			return req
		},
		want: []answer{{"", "53"}, {"DESCRIBE id absent", "105"}},
	},
	{
		ask: func(*world) kmsg.Request { return kmsg.NewPtrListTransactionsRequest() }, show: transactions,
		want: []answer{{"", "0 none"}, {"DESCRIBE cluster", "0 none"}, {"DESCRIBE id billing", "0 [billing Ongoing]"}},
	},
	{
		feature: "group.version",
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
			req.Group, req.MemberID, req.RebalanceTimeoutMillis = "modern", "AAAAAAAAAAAAAAAAAAAAAA", 10000
			req.SubscribedTopicNames, req.Topics = []string{"orders"}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
			return req
		},
		want: []answer{{"", "30"}, {"DESCRIBE group modern", "30"}, {"READ group modern", "29"}, {"DESCRIBE topic orders", "0"}},
	},
	{
		feature: "group.version",
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrConsumerGroupDescribeRequest()
			req.Groups = []string{"modern"}
			return req
		},
		want: []answer{{"", "30"}, {"DESCRIBE cluster", "30"}, {"DESCRIBE group modern", "29"}, {"DESCRIBE topic orders", "0"}},
	},
	{
		name: "of a topic",
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrDescribeTopicPartitionsRequest()
			req.ResponsePartitionLimit = 100
			req.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: "orders"}, {Topic: "missing"}}
			return req
		},
		show: describedTopics,
		want: []answer{{"", "[missing 29 orders 29]"}, {"DESCRIBE topic orders", "[missing 29 orders 0]"}, {"DESCRIBE topic missing", "[missing 3 orders 0]"}},
	},
	{
		name: "all topics",
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrDescribeTopicPartitionsRequest()
			req.ResponsePartitionLimit = 100
			return req
		},
		show: describedTopics,
		want: []answer{{"", "none"}, {"DESCRIBE topic orders", "[orders 0]"}},
	},
	{
		name: "that does not exist",
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrShareGroupDescribeRequest()
			req.GroupIDs = []string{"missing"}
			return req
		},
		want: []answer{{"", "30"}, {"DESCRIBE cluster", "30"}, {"DESCRIBE group missing", "69"}},
	},
	{
		name: "that does not exist",
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrStreamsGroupDescribeRequest()
			req.Groups = []string{"missing"}
			return req
		},
		want: []answer{{"", "30"}, {"DESCRIBE cluster", "30"}, {"DESCRIBE group missing", "69"}},
	},
	{
		name: "that does not exist",
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrDescribeShareGroupOffsetsRequest()
			req.Groups = []kmsg.DescribeShareGroupOffsetsRequestGroup{{GroupID: "missing"}}
			return req
		},
		want: []answer{{"", "30"}, {"DESCRIBE cluster", "30"}, {"DESCRIBE group missing", "0"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrAlterShareGroupOffsetsRequest()
			req.GroupID = "altered"
			req.Topics = []kmsg.AlterShareGroupOffsetsRequestTopic{{Topic: "orders", Partitions: []kmsg.AlterShareGroupOffsetsRequestTopicPartition{{}}}}
			return req
		},
		want: []answer{{"", "30"}, {"ALTER group altered", "30"}, {"READ group altered", "0 29"}, {"DESCRIBE topic orders", "0 29"}, {"READ topic orders", "0 0"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrDeleteShareGroupOffsetsRequest()
			req.GroupID = "altered"
			req.Topics = []kmsg.DeleteShareGroupOffsetsRequestTopic{{Topic: "orders"}}
			return req
		},
		want: []answer{{"", "30"}, {"READ group altered", "30"}, {"DELETE group altered", "0 29"}, {"DESCRIBE topic orders", "0 29"}, {"READ topic orders", "0 0"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrShareGroupHeartbeatRequest()
			req.GroupID, req.MemberID, req.SubscribedTopicNames = "shared", "AAAAAAAAAAAAAAAAAAAAAA", []string{"orders"}
			return req
		},
		want: []answer{{"", "30"}, {"DESCRIBE group shared", "30"}, {"READ group shared", "29"}, {"DESCRIBE topic orders", "0"}},
	},
	{
		ask: func(w *world) kmsg.Request {
			req := kmsg.NewPtrShareFetchRequest()
			req.GroupID, req.MemberID = kmsg.StringPtr("shared"), kmsg.StringPtr("AAAAAAAAAAAAAAAAAAAAAA")
			req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.MaxRecords = 100, 1, 1000, 1
			req.Topics = []kmsg.ShareFetchRequestTopic{{TopicID: w.ids["orders"], Partitions: []kmsg.ShareFetchRequestTopicPartition{{}}}}
			return req
		},
		want: []answer{{"", "30"}, {"READ group shared", "0 29"}, {"DESCRIBE topic orders", "0 29"}},
	},
	{
		name: "without a session",
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrShareAcknowledgeRequest()
			req.GroupID, req.MemberID = kmsg.StringPtr("shared"), kmsg.StringPtr("BBBBBBBBBBBBBBBBBBBBBB")
			return req
		},
		want: []answer{{"", "30"}, {"READ group shared", "123"}},
	},
	{
		ask: func(*world) kmsg.Request {
			req := kmsg.NewPtrStreamsGroupHeartbeatRequest()
			req.Group, req.MemberID, req.RebalanceTimeoutMillis, req.ProcessID = "streaming", "AAAAAAAAAAAAAAAAAAAAAA", 10000, kmsg.StringPtr("p")
			req.ActiveTasks, req.StandbyTasks, req.WarmupTasks = []kmsg.TaskIDs{}, []kmsg.TaskIDs{}, []kmsg.TaskIDs{}
			req.Topology = &kmsg.StreamsGroupHeartbeatRequestTopology{
				Subtopologies: []kmsg.StreamsGroupHeartbeatRequestTopologySubtopology{{SubtopologyID: "0", SourceTopics: []string{"orders"}}},
			}
			return req
		},
		want: []answer{{"", "30"}, {"READ group streaming", "29"}, {"DESCRIBE topic orders", "0"}},
	},
}
