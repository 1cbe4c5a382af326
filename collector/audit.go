package collector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/collector/security"
	"github.com/lso-exporter/lso-exporter/lag"
)

// maxConfigsPerRequest bounds the topics of one DescribeConfigs request (about
// 150 bytes each in the answer).
const maxConfigsPerRequest = 10_000

// Names that nobody uses: whoever may see every topic, or group, is told that
// they do not exist. They begin as no other name does, so that a right to a
// prefix is none to them.
const (
	unusedTopic = "-.lso-exporter.no-topic-has-this-name"
	unusedGroup = "~lso-exporter: no group has this id"
)

// The properties that an audit reads.
const (
	minInSyncProperty    = "min.insync.replicas"
	uncleanProperty      = "unclean.leader.election.enable"
	maxTimeoutProperty   = "transaction.max.timeout.ms"
	verificationProperty = "transaction.partition.verification.enable"
)

// Auditor reads how a cluster is set up. It is apart from sweeps: it is made
// seldom, and its requests are not of their budget. With B brokers an audit
// sends at most 6 + 3 B requests, and those into which one is split for its
// size:
//
//	Metadata                    1, from any broker that answers
//	ApiVersions                 1: finalised features
//	Metadata, DescribeGroups, DescribeTransactions
//	                            3: of names that nobody uses, for what is hidden
//	DescribeConfigs         1 + B: of all topics; of each broker, by itself
//	DescribeProducers         2 B: of fragile partitions, by their leaders
//
// It is safe for use beside a Sweeper with the same client, but not for
// concurrent use.
type Auditor struct {
	client  Client
	options Options
}

// NewAuditor returns an auditor that asks client. It panics if the options are
// not valid.
func NewAuditor(client Client, options Options) *Auditor {
	if err := options.Validate(); err != nil {
		panic("collector: " + err.Error())
	}
	return &Auditor{client: client, options: options.withDefaults()}
}

// audit is one audit under way.
type audit struct {
	*Auditor
	sample   lag.AuditSample
	broker   int32 // is asked for what any broker knows
	complete bool
}

// Audit reads a sample. It returns when everything is read, or has failed, or
// the deadline of a sweep is over, and never fails as a whole.
func (a *Auditor) Audit(ctx context.Context) lag.AuditSample {
	begun := a.options.Now()
	ctx, cancel := context.WithTimeout(ctx, a.options.Deadline)
	defer cancel()
	u := &audit{Auditor: a, complete: true}
	if err := u.readMetadata(ctx); err != nil {
		u.sample.Failure, u.complete = err.Error(), false
	} else {
		u.readFeatures(ctx)
		u.readSight(ctx)
		u.readTopicConfigs(ctx)
		u.readBrokerConfigs(ctx)
		u.readProducers(ctx)
	}
	u.sample.At = a.options.Now()
	a.options.Observer.Collector(Audits, u.complete, u.sample.At.Sub(begun))
	return u.sample
}

// ask sends a request and waits for the answer; the error says why there is
// none.
func (a *Auditor) ask(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	if ctx.Err() != nil {
		return nil, errOver
	}
	answer, err := a.options.ask(ctx, a.client, broker, req)
	if !errors.Is(err, security.ErrHeld) {
		a.options.Observer.AuditRequest()
	}
	return answer.resp, err
}

// gap is why something could not be read, and notes that the audit lacks it;
// unauthorized is the right that was missing, if one was.
func (u *audit) gap(kind lag.MissKind, unauthorized lag.Gap) lag.Gap {
	u.complete = u.complete && kind == lag.MissAPIMissing
	switch kind {
	case lag.MissUnauthorized:
		return unauthorized
	case lag.MissAPIMissing:
		return lag.GapAPIMissing
	case lag.MissUnreachable, lag.MissTLS, lag.MissAuthentication, lag.MissTimeout:
		return lag.GapUnreachable
	case lag.MissDeadline:
		return lag.GapBudget
	case lag.MissLeaderChanged, lag.MissNoLeader:
		return lag.GapNoLeader
	}
	return lag.GapError
}

// readMetadata asks one seed after the other for the cluster until one answers.
// It returns the last error if none does.
func (u *audit) readMetadata(ctx context.Context) error {
	err := errOver
	for _, id := range u.client.Seeds() {
		req := kmsg.NewPtrMetadataRequest()
		req.AllowAutoTopicCreation = false
		var resp kmsg.Response
		if resp, err = u.ask(ctx, id, req); err != nil {
			continue
		}
		if u.takeMetadata(resp.(*kmsg.MetadataResponse)); len(u.sample.Brokers) > 0 {
			return nil
		}
		err = fmt.Errorf("%s lists no broker", kmsg.Metadata.Name())
	}
	return err
}

// takeMetadata takes over brokers and topics. Topics that are not wanted are
// left out, but for the two that keep what coordinators know.
func (u *audit) takeMetadata(resp *kmsg.MetadataResponse) {
	for _, b := range resp.Brokers {
		u.sample.Brokers = append(u.sample.Brokers, lag.AuditedBroker{ID: lag.BrokerID(b.NodeID), Gap: lag.GapBudget})
	}
	slices.SortFunc(u.sample.Brokers, func(a, b lag.AuditedBroker) int { return cmp.Compare(a.ID, b.ID) })
	if len(u.sample.Brokers) > 0 {
		u.broker = int32(u.sample.Brokers[0].ID)
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		name := nameOf(*t)
		if t.ErrorCode != 0 || !u.options.Topics(name) && name != transactionStateTopic && name != consumerOffsetsTopic {
			continue
		}
		topic := lag.AuditedTopic{Name: name, Internal: t.IsInternal, ConfigGap: lag.GapBudget}
		for j := range t.Partitions {
			p := partitionOf(&t.Partitions[j])
			topic.Partitions = append(topic.Partitions, lag.AuditedPartition{
				Number: p.Number, Leader: p.Leader, Replicas: p.Replicas,
			})
		}
		slices.SortFunc(topic.Partitions, func(a, b lag.AuditedPartition) int { return cmp.Compare(a.Number, b.Number) })
		u.sample.Topics = append(u.sample.Topics, topic)
	}
	slices.SortFunc(u.sample.Topics, func(a, b lag.AuditedTopic) int { return strings.Compare(a.Name, b.Name) })
}

// readFeatures asks which feature levels are finalised. Every broker knows.
func (u *audit) readFeatures(ctx context.Context) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "lso-exporter", "audit"
	resp, err := u.ask(ctx, u.broker, req)
	if err != nil {
		u.sample.FeaturesGap = u.gap(missOfError(err), lag.GapError)
		return
	}
	answer := resp.(*kmsg.ApiVersionsResponse)
	if answer.ErrorCode != 0 || answer.Version < 3 {
		u.sample.FeaturesGap = lag.GapAPIMissing
		return
	}
	levels := make(map[string]int16)
	for _, f := range answer.FinalizedFeatures {
		levels[f.Name] = f.MaxVersionLevel
	}
	u.sample.Features = lag.Known(levels)
}

// readSight finds out whether topics, groups or transactional ids are hidden
// from this principal. Any broker checks rights before all else.
func (u *audit) readSight(ctx context.Context) {
	if resp, err := u.ask(ctx, u.broker, metadataFor(unusedTopic)); err == nil {
		for _, t := range resp.(*kmsg.MetadataResponse).Topics {
			u.sample.Sight.AllTopics = lag.Known(!denied(t.ErrorCode))
		}
	}
	groups := kmsg.NewPtrDescribeGroupsRequest()
	groups.Groups = []string{unusedGroup}
	if resp, err := u.ask(ctx, u.broker, groups); err == nil {
		for _, g := range resp.(*kmsg.DescribeGroupsResponse).Groups {
			u.sample.Sight.AllGroups = lag.Known(!denied(g.ErrorCode))
		}
	}
	ids := kmsg.NewPtrDescribeTransactionsRequest()
	ids.TransactionalIDs = []string{unusedID}
	if resp, err := u.ask(ctx, u.broker, ids); err == nil {
		for _, t := range resp.(*kmsg.DescribeTransactionsResponse).TransactionStates {
			u.sample.Sight.AllTransactionalIDs = lag.Known(!denied(t.ErrorCode))
		}
	}
}

// denied says whether an error code is a lack of rights.
func denied(code int16) bool { return missOfCode(code) == lag.MissUnauthorized }

// readTopicConfigs reads what decides how much of a topic's log can be lost.
func (u *audit) readTopicConfigs(ctx context.Context) {
	index := make(map[string]int, len(u.sample.Topics))
	var names []string
	for i := range u.sample.Topics {
		index[u.sample.Topics[i].Name] = i
		names = append(names, u.sample.Topics[i].Name)
	}
	for part := range slices.Chunk(names, maxConfigsPerRequest) {
		req := kmsg.NewPtrDescribeConfigsRequest()
		for _, name := range part {
			r := kmsg.NewDescribeConfigsRequestResource()
			r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, name
			r.ConfigNames = []string{minInSyncProperty, uncleanProperty}
			req.Resources = append(req.Resources, r)
		}
		resp, err := u.ask(ctx, u.broker, req)
		if err != nil {
			gap := u.gap(missOfError(err), lag.GapNoDescribeConfigsOnTopic)
			for _, name := range part {
				u.sample.Topics[index[name]].ConfigGap = gap
			}
			continue
		}
		for _, r := range resp.(*kmsg.DescribeConfigsResponse).Resources {
			if i, ok := index[r.ResourceName]; ok {
				u.takeTopicConfig(&u.sample.Topics[i], &r)
			}
		}
	}
}

// takeTopicConfig takes over the answer about a topic.
func (u *audit) takeTopicConfig(t *lag.AuditedTopic, r *kmsg.DescribeConfigsResponseResource) {
	if r.ErrorCode != 0 {
		t.ConfigGap = u.gap(missOfCode(r.ErrorCode), lag.GapNoDescribeConfigsOnTopic)
		return
	}
	t.ConfigGap = ""
	for _, c := range r.Configs {
		if c.Value == nil {
			continue
		}
		switch c.Name {
		case minInSyncProperty:
			if n, err := strconv.Atoi(*c.Value); err == nil {
				t.MinInSync = lag.Known(n)
			}
		case uncleanProperty:
			t.Unclean = lag.Known(*c.Value == "true")
		}
	}
	if !t.MinInSync.IsKnown() || !t.Unclean.IsKnown() {
		t.ConfigGap = lag.GapAPIMissing
	}
}

// reply is what a broker answered, or why it did not.
type reply struct {
	resp kmsg.Response
	err  error
}

// readBrokerConfigs asks each broker for its own properties.
func (u *audit) readBrokerConfigs(ctx context.Context) {
	at := make(map[int32]*lag.AuditedBroker)
	var ids []int32
	for i := range u.sample.Brokers {
		b := &u.sample.Brokers[i]
		ids = append(ids, int32(b.ID))
		at[int32(b.ID)] = b
	}
	fanOut(ctx, u.options.Serial, ids, always, 0, func(id int32) reply {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(id))
		r.ConfigNames = []string{maxTimeoutProperty, verificationProperty}
		req := kmsg.NewPtrDescribeConfigsRequest()
		req.Resources = append(req.Resources, r)
		resp, err := u.ask(ctx, id, req)
		return reply{resp, err}
	}, func(id int32, r reply) {
		if r.err != nil {
			at[id].Gap = u.gap(missOfError(r.err), lag.GapNoDescribeConfigsOnCluster)
			return
		}
		for _, resource := range r.resp.(*kmsg.DescribeConfigsResponse).Resources {
			u.takeBrokerConfig(at[id], &resource)
		}
	})
}

// takeBrokerConfig takes over the answer of a broker.
func (u *audit) takeBrokerConfig(b *lag.AuditedBroker, r *kmsg.DescribeConfigsResponseResource) {
	if r.ErrorCode != 0 {
		b.Gap = u.gap(missOfCode(r.ErrorCode), lag.GapNoDescribeConfigsOnCluster)
		return
	}
	b.Gap = ""
	for _, c := range r.Configs {
		if c.Value == nil {
			continue
		}
		switch c.Name {
		case maxTimeoutProperty:
			if ms, err := strconv.ParseInt(*c.Value, 10, 64); err == nil {
				b.MaxTransactionTimeout = lag.Known(time.Duration(ms) * time.Millisecond)
			}
		case verificationProperty:
			b.Verification = lag.Known(*c.Value == "true")
		}
	}
}
