package collector

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// unusedID is a transactional id that nobody uses: whether its description is
// refused or not found tells whether ids are hidden from this principal. It
// begins as no other id does, so that a right to ids of one prefix is none to
// it.
const unusedID = "~lso-exporter: no producer has this id"

// maxPatterns bounds the patterns of transactional ids in ACLs that are tried.
const maxPatterns = 5000

// unowned is what a look-up asks to find out whether a producer that no broker
// listed is known to no coordinator: a list leaves out, without an error, what
// this principal may not see, and what a coordinator has not loaded, or does
// not know yet that it is to load.
//
//   - Is each list whole? For each partition of __transaction_state its leader
//     describes an id that belongs there and that nobody uses. "Not found" says
//     that it is the coordinator and has loaded the partition; one that is
//     not, or has not, says so. Then it is asked whether the leader epoch is
//     still that of the Metadata answer. Both are true of a coordinator that
//     has loaded after it was asked for its list; so the proof takes two
//     look-ups in the same terms (lag.Transactions.Terms).
//   - May this principal see all ids? Those ids begin as no other does. As many
//     kinds of ids as there are patterns in the cluster's ACLs may be treated
//     otherwise: one id of each is described too.
//
// An authorizer that does not tell its ACLs, or an exporter without the right to
// ask for them, leaves it unknown.
type unowned struct {
	probes  map[string]int // unused ids, by the partition that each belongs to
	hidden  bool           // an id may not be described
	untold  lag.Reason     // why the ACLs are not known; ReasonNone: they are
	spoke   []bool         // by partition: its leader has loaded it
	inTerm  []bool         // by partition: its leader is in the epoch of Metadata
	lacking map[int]lag.Reason
	silent  map[int32]lag.Reason // brokers that did not answer one of the requests
}

// askUnowned adds to the ids that each broker is to describe those that tell
// whether it matters that a producer was not listed.
func (u *lookUp) askUnowned(ctx context.Context, names map[int32][]string) {
	u.newUnowned()
	probes := u.probesByLeader(unusedID)
	if len(probes) == 0 {
		return
	}
	patterns := u.readPatterns(ctx)
	for leader, ids := range probes {
		names[leader] = slices.Concat(names[leader], ids, patterns)
	}
}

// newUnowned begins to find out how much it means that a broker did not list
// something.
func (u *lookUp) newUnowned() {
	n := len(u.layout.transactionState)
	u.unowned = &unowned{
		probes: make(map[string]int, n), untold: lag.ReasonNone,
		spoke: make([]bool, n), inTerm: make([]bool, n),
		lacking: make(map[int]lag.Reason), silent: make(map[int32]lag.Reason),
	}
}

// probesByLeader returns the unused ids, with the same beginning, that each leader
// of __transaction_state is to describe.
func (u *lookUp) probesByLeader(beginning string) map[int32][]string {
	terms := u.layout.transactionState
	ids := make(map[int32][]string)
	for partition, id := range u.probeIDs(beginning, len(terms)) {
		u.unowned.probes[id] = partition
		if leader := int32(terms[partition].Leader); leader >= 0 {
			ids[leader] = append(ids[leader], id)
		}
	}
	return ids
}

// probeIDs returns, for each partition of __transaction_state, an id that
// belongs there and that nobody uses.
func (s *Sweeper) probeIDs(beginning string, partitions int) []string {
	if len(s.probes[beginning]) != partitions {
		s.probes[beginning] = unusedIDs(beginning, partitions)
	}
	return s.probes[beginning]
}

// unusedIDs returns an unused id for each of n partitions. Their last two
// characters are of so many kinds that each partition has one soon: modulo 31,
// Kafka's hash is little more than the last character.
func unusedIDs(beginning string, n int) []string {
	const first, kinds = '!', '~' - '!' + 1
	ids := make([]string, n)
	for i, missing := 0, n; missing > 0; i++ {
		id := beginning + " "
		for rest := i; len(id) < len(beginning)+3 || rest > 0; rest /= kinds {
			id += string(rune(first + rest%kinds))
		}
		if p := lag.Keeper(id, n); ids[p] == "" {
			ids[p] = id
			missing--
		}
	}
	return ids
}

// readPatterns returns one id of each kind that the cluster's ACLs treat
// otherwise than an unused one. The request is of the sweep's budget.
func (u *lookUp) readPatterns(ctx context.Context) []string {
	broker := int32(-1)
	for _, id := range u.brokers {
		if b := u.backOffs[id]; !u.down[id] && (b == nil || b.wait <= 0) {
			broker = id
			break
		}
	}
	switch {
	case broker < 0:
		u.unowned.untold = lag.ReasonCoordinatorUnreachable
		return nil
	case !u.budget.take():
		u.unowned.untold = lag.ReasonBudget
		return nil
	}
	var patterns []string
	u.askAll(ctx, "DescribeAcls", one(map[int32]kmsg.Request{broker: idACLsRequest()}),
		func(id int32, a answered) {
			resp := a.resp.(*kmsg.DescribeACLsResponse)
			switch kerr.ErrorForCode(resp.ErrorCode) {
			case nil:
				patterns = idsOfPatterns(resp)
			case kerr.SecurityDisabled: // no authorizer: nothing is hidden
			case kerr.ClusterAuthorizationFailed:
				u.unowned.untold = lag.ReasonNoDescribeOnCluster
				u.misses.add(lag.MissUnauthorized, "cluster", 1, "DescribeAcls: "+codeText(resp.ErrorCode), Transactions)
			default:
				kind := missOfCode(resp.ErrorCode)
				u.unowned.untold = coordinatorReason(kind, resp.ErrorCode)
				u.misses.add(kind, brokerSubject(id), 1, "DescribeAcls: "+codeText(resp.ErrorCode), Transactions)
			}
		},
		func(_ int32, kind lag.MissKind) { u.unowned.untold = coordinatorReason(kind, 0) })
	if len(patterns) > maxPatterns {
		u.unowned.untold = lag.ReasonBudget
		return nil
	}
	return patterns
}

// idACLsRequest asks for all ACLs on transactional ids.
func idACLsRequest() kmsg.Request {
	req := kmsg.NewPtrDescribeACLsRequest()
	req.ResourceType = kmsg.ACLResourceTypeTransactionalId
	req.ResourcePatternType = kmsg.ACLResourcePatternTypeAny
	req.Operation = kmsg.ACLOperationAny
	req.PermissionType = kmsg.ACLPermissionTypeAny
	return req
}

// idsOfPatterns returns for each pattern of transactional ids one that it
// matches, and of the others only those that match whatever it matches. The
// pattern of all ids is left out: unused ids are among them.
func idsOfPatterns(resp *kmsg.DescribeACLsResponse) []string {
	var ids []string
	for i := range resp.Resources {
		switch r := &resp.Resources[i]; {
		case r.ResourcePatternType == kmsg.ACLResourcePatternTypePrefixed:
			ids = append(ids, r.ResourceName+unusedID)
		case r.ResourceName != "*":
			ids = append(ids, r.ResourceName)
		}
	}
	return ids
}

// takeProbe takes over what the description of an id says of its coordinator and
// of the rights to it, and says whether it is the first that may not be described.
func (u *lookUp) takeProbe(broker int32, s *kmsg.DescribeTransactionsResponseTransactionState) (hidden bool) {
	code := kerr.ErrorForCode(s.ErrorCode)
	if code == kerr.TransactionalIDAuthorizationFailed {
		hidden = !u.unowned.hidden
		u.unowned.hidden = true
	}
	partition, ok := u.unowned.probes[s.TransactionalID]
	if !ok || int32(u.layout.transactionState[partition].Leader) != broker {
		return hidden
	}
	switch code {
	case nil, kerr.TransactionalIDNotFound:
		u.unowned.spoke[partition] = true
	case kerr.TransactionalIDAuthorizationFailed:
	default:
		kind := missOfCode(s.ErrorCode)
		u.unowned.lacking[partition] = coordinatorReason(kind, s.ErrorCode)
		if subject := brokerSubject(broker); !u.misses.has(kind, subject) { // once for all that it is to coordinate
			u.misses.add(kind, subject, 1, "DescribeTransactions: "+codeText(s.ErrorCode), Transactions)
		}
		u.misses.fail(Transactions)
	}
	return hidden
}

// sees says whether this principal may see all transactional ids.
func (n *unowned) sees() lag.Reason {
	if n.hidden {
		return lag.ReasonNoDescribeOnTransactionalID
	}
	return n.untold
}

// addTerms adds to what leaders are asked again the partitions of
// __transaction_state, if the answer can still prove anything: a request that
// names a leader epoch is refused in another.
func (u *lookUp) addTerms(chunks map[int32]*chunk) {
	if u.result.Uncovered != lag.ReasonNone || u.unowned.sees() != lag.ReasonNone || slices.Contains(u.unowned.spoke, false) {
		return
	}
	asked := make(map[int]bool)
	for _, places := range u.pinned {
		for _, place := range places {
			if p := &u.partitions[place]; u.topics[place].name == transactionStateTopic {
				asked[int(p.Number)] = true
			}
		}
	}
	for number, term := range u.layout.transactionState {
		if asked[number] {
			continue
		}
		c := chunks[int32(term.Leader)]
		if c == nil {
			c = &chunk{}
			chunks[int32(term.Leader)] = c
		}
		c.latest = addToTopic(c.latest, transactionStateTopic, &lag.Partition{Number: int32(number), LeaderEpoch: term.Epoch}, timestampLatest)
	}
}

// takeTerm takes over whether a leader is in the epoch that Metadata told.
func (n *unowned) takeTerm(broker int32, answer *kmsg.ListOffsetsResponseTopicPartition, terms []lag.Term) {
	p := int(answer.Partition)
	switch {
	case p < 0 || p >= len(terms) || int32(terms[p].Leader) != broker:
	case answer.ErrorCode == 0:
		n.inTerm[p] = true
	default:
		n.lacking[p] = lag.ReasonCoordinatorUnavailable
	}
}

// concludeUnowned says whether a producer that no broker listed may be known to
// some coordinator all the same.
func (u *lookUp) concludeUnowned() {
	terms := u.layout.transactionState
	u.result.Unseen = u.unowned.sees()
	if len(terms) == 0 {
		u.result.Unseen = lag.ReasonNoTransactionState
	}
	for partition, term := range terms {
		if u.result.Uncovered != lag.ReasonNone {
			return
		}
		u.result.Uncovered = u.whyUncovered(partition, term)
	}
	if u.result.Unseen == lag.ReasonNone {
		u.result.Terms = slices.Clone(terms)
	}
}

// whyUncovered is why the leader of a partition of __transaction_state cannot be
// taken to have listed all that it coordinates.
func (u *lookUp) whyUncovered(partition int, term lag.Term) lag.Reason {
	n := u.unowned
	if reason, lacks := n.lacking[partition]; lacks {
		return reason
	}
	if reason, silent := n.silent[int32(term.Leader)]; silent {
		return reason
	}
	if n.sees() == lag.ReasonNone && !(n.spoke[partition] && n.inTerm[partition] && u.readInTerm(partition, term)) {
		return lag.ReasonCoordinatorUnavailable
	}
	return lag.ReasonNone
}

// readInTerm says whether the leader of a partition of __transaction_state was
// in its term already when the sweep read the offsets; it says so too if the
// topic is left out of sweeps.
func (u *lookUp) readInTerm(partition int, term lag.Term) bool {
	place, ok := u.layout.place(transactionStateTopic, int32(partition))
	if !ok {
		return true
	}
	p := &u.partitions[place]
	_, _, _, read := p.Pinned()
	return read && p.Leader == term.Leader && p.LeaderEpoch == term.Epoch
}
