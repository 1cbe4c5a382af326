package application

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// patience is how long a request is repeated, by the cluster's clock: longer
	// than an open transaction of another instance may take to time out.
	patience = 2 * time.Minute
	again    = 20 * time.Millisecond // between two attempts
)

// newest are the versions in which requests are sent, if the cluster has them:
// the last ones that name topics, not their ids.
var newest = map[kmsg.Key]int16{
	kmsg.Produce: 12, kmsg.Fetch: 12, kmsg.Metadata: 12, kmsg.OffsetCommit: 9, kmsg.OffsetFetch: 9,
	kmsg.TxnOffsetCommit: 5, kmsg.AddPartitionsToTxn: 3,
}

// newestProtocol1 are those of requests that would mean protocol 2.
var newestProtocol1 = map[kmsg.Key]int16{kmsg.Produce: 11, kmsg.EndTxn: 4, kmsg.TxnOffsetCommit: 4}

// transactionVersion is the feature whose level 2 is transaction protocol 2.
const transactionVersion = "transaction.version"

// client is an application's connection to a cluster.
type client struct {
	// ctx is that of the moment: of whoever lets the application go on.
	ctx       context.Context
	cluster   Cluster
	offered   map[int16]int16 // highest version by API; nil until it is learned
	protocol2 bool
}

// learn asks what the cluster serves, once.
func (c *client) learn() error {
	if c.offered != nil {
		return nil
	}
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = 3, clientID, "1"
	return c.retried("ApiVersions", func() (int16, error) {
		answer, err := c.toAny(req)
		if err != nil {
			return 0, err
		}
		resp := answer.(*kmsg.ApiVersionsResponse)
		c.offered = map[int16]int16{}
		for _, k := range resp.ApiKeys {
			c.offered[k.ApiKey] = k.MaxVersion
		}
		for _, f := range resp.FinalizedFeatures {
			c.protocol2 = c.protocol2 || f.Name == transactionVersion && f.MaxVersionLevel >= 2
		}
		return resp.ErrorCode, nil
	})
}

const clientID = "application"

// version is the one in which a request is sent.
func (c *client) version(key int16) int16 {
	v := kmsg.RequestForKey(key).MaxVersion()
	if most, named := newest[kmsg.Key(key)]; named {
		v = most
	}
	if most, named := newestProtocol1[kmsg.Key(key)]; named && !c.protocol2 {
		v = min(v, most)
	}
	if most, known := c.offered[key]; known {
		v = min(v, most)
	}
	return v
}

// to sends a request to a broker, once.
func (c *client) to(broker int32, req kmsg.Request) (kmsg.Response, error) {
	return c.cluster.Request(c.ctx, broker, clientID, req)
}

// toAny sends a request to the first broker that answers.
func (c *client) toAny(req kmsg.Request) (resp kmsg.Response, err error) {
	for _, broker := range c.cluster.Brokers() {
		if resp, err = c.to(broker, req); err == nil {
			return resp, nil
		}
	}
	return nil, err
}

// retried repeats a request, as clients do, while there is no answer or Kafka
// says that it may be sent again. The error wraps Kafka's.
func (c *client) retried(what string, try func() (int16, error)) error {
	deadline := c.cluster.Now().Add(patience)
	for {
		code, err := try()
		if err == nil {
			if code == 0 {
				return nil
			}
			err = kerr.ErrorForCode(code)
		}
		if c.ctx.Err() != nil {
			return context.Cause(c.ctx)
		}
		var refusal *kerr.Error
		if errors.As(err, &refusal) && !refusal.Retriable && !errors.Is(err, kerr.ConcurrentTransactions) {
			return fmt.Errorf("%s: %w", what, err)
		}
		if !c.cluster.Now().Before(deadline) {
			return fmt.Errorf("%s: not within %v: %w", what, patience, err)
		}
		if err := c.cluster.Wait(c.ctx, again); err != nil {
			return err
		}
	}
}

// metadata asks for a topic.
func (c *client) metadata(topic string) (t kmsg.MetadataResponseTopic, err error) {
	if err := c.learn(); err != nil {
		return t, err
	}
	req := kmsg.NewPtrMetadataRequest()
	req.Version, req.AllowAutoTopicCreation = c.version(req.Key()), false
	want := kmsg.NewMetadataRequestTopic()
	want.Topic = &topic
	req.Topics = append(req.Topics, want)
	answer, err := c.toAny(req)
	if err != nil {
		return t, err
	}
	t = answer.(*kmsg.MetadataResponse).Topics[0]
	return t, kerr.ErrorForCode(t.ErrorCode)
}

// toLeader sends a request to the leader of a partition.
func (c *client) toLeader(of Partition, req kmsg.Request) (kmsg.Response, error) {
	topic, err := c.metadata(of.Topic)
	if err != nil {
		return nil, err
	}
	for _, p := range topic.Partitions {
		if p.Partition != of.Number {
			continue
		}
		if p.Leader < 0 {
			return nil, kerr.LeaderNotAvailable
		}
		return c.to(p.Leader, req)
	}
	return nil, kerr.UnknownTopicOrPartition
}

// The types of coordinators.
const (
	ofGroup       = 0
	ofTransaction = 1
)

// toCoordinator sends a request to who coordinates a group or transactional id.
func (c *client) toCoordinator(kind int8, key string, req kmsg.Request) (kmsg.Response, error) {
	if err := c.learn(); err != nil {
		return nil, err
	}
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.Version, find.CoordinatorType, find.CoordinatorKey, find.CoordinatorKeys = c.version(find.Key()), kind, key, []string{key}
	answer, err := c.toAny(find)
	if err != nil {
		return nil, err
	}
	resp := answer.(*kmsg.FindCoordinatorResponse)
	node, code := resp.NodeID, resp.ErrorCode
	if len(resp.Coordinators) > 0 {
		node, code = resp.Coordinators[0].NodeID, resp.Coordinators[0].ErrorCode
	}
	if code != 0 {
		return nil, kerr.ErrorForCode(code)
	}
	return c.to(node, req)
}
