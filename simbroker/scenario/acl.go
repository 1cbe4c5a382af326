package scenario

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func aclVerbs() []Verb {
	return []Verb{
		{
			Name:  "acl",
			Usage: "acl allow|deny USER|* OPERATION RESOURCE",
			Doc: "Makes an ACL and returns when every broker that runs has it. OPERATION is Kafka's name (READ). RESOURCE is topic T1, " +
				"group G1, id X1 or cluster; a name with a star behind it, T1*, is a prefix, a lone star stands for all. Prints ok, or the error.",
			Parse: func(words []string) (Action, error) { return parseACL(words, (*Play).createACL) },
		},
		{
			Name:  "revoke",
			Usage: "revoke allow|deny USER|* OPERATION RESOURCE",
			Doc:   "Deletes such an ACL and returns when no broker that runs has it any more. Prints how many were deleted.",
			Parse: func(words []string) (Action, error) { return parseACL(words, (*Play).deleteACL) },
		},
	}
}

// aclRef is an ACL in a command.
type aclRef struct {
	permission kmsg.ACLPermissionType
	user       string // U1, or * for everybody
	operation  kmsg.ACLOperation
	kind       kmsg.ACLResourceType
	resource   string // T1, G1, X1, with a star behind it for a prefix; * for all; empty for the cluster
}

var aclKinds = map[string]struct {
	kind   kmsg.ACLResourceType
	symbol func(string) bool
}{
	"topic":   {kmsg.ACLResourceTypeTopic, topicSymbol.MatchString},
	"group":   {kmsg.ACLResourceTypeGroup, groupSymbol.MatchString},
	"id":      {kmsg.ACLResourceTypeTransactionalId, idSymbol.MatchString},
	"cluster": {kmsg.ACLResourceTypeCluster, func(string) bool { return false }},
}

const star = "*"

func parseACL(words []string, do func(*Play, context.Context, aclRef) (string, error)) (Action, error) {
	if len(words) < 4 || len(words) > 5 {
		return nil, fmt.Errorf("%d words where 4 or 5 are wanted", len(words))
	}
	var ref aclRef
	switch words[0] {
	case "allow":
		ref.permission = kmsg.ACLPermissionTypeAllow
	case "deny":
		ref.permission = kmsg.ACLPermissionTypeDeny
	default:
		return nil, fmt.Errorf("%s is neither allow nor deny", words[0])
	}
	if ref.user = words[1]; ref.user != star && !userSymbol.MatchString(ref.user) {
		return nil, fmt.Errorf("%s is no user", ref.user)
	}
	var err error
	if ref.operation, err = kmsg.ParseACLOperation(words[2]); err != nil {
		return nil, fmt.Errorf("%s is no operation; expected Kafka's name of one, such as READ", words[2])
	}
	kind, ok := aclKinds[words[3]]
	if !ok || (len(words) == 5) == (words[3] == "cluster") {
		return nil, fmt.Errorf("a resource is topic T1, group G1, id X1 or cluster")
	}
	ref.kind = kind.kind
	if len(words) == 5 {
		if ref.resource = words[4]; ref.resource != star && !kind.symbol(strings.TrimSuffix(ref.resource, star)) {
			return nil, fmt.Errorf("%s is no %s", ref.resource, words[3])
		}
	}
	return func(ctx context.Context, p *Play) (string, error) { return do(p, ctx, ref) }, nil
}

// resolved is an ACL with real names.
func (p *Play) resolved(ctx context.Context, ref aclRef) (kmsg.CreateACLsRequestCreation, error) {
	c := kmsg.NewCreateACLsRequestCreation()
	c.ResourceType, c.Operation, c.PermissionType = ref.kind, ref.operation, ref.permission
	c.Host, c.ResourcePatternType = star, kmsg.ACLResourcePatternTypeLiteral
	c.Principal = "User:" + star
	if ref.user != star {
		c.Principal = "User:" + p.userName(ref.user)
	}
	symbol, prefixed := strings.CutSuffix(ref.resource, star)
	switch {
	case ref.resource == "":
		c.ResourceName = "kafka-cluster"
		return c, nil
	case ref.resource == star:
		c.ResourceName = star
		return c, nil
	case prefixed:
		c.ResourcePatternType = kmsg.ACLResourcePatternTypePrefixed
	}
	if topicSymbol.MatchString(symbol) {
		c.ResourceName = p.topicName(symbol)
		return c, nil
	}
	var err error
	c.ResourceName, err = p.name(ctx, symbol)
	return c, err
}

func (p *Play) createACL(ctx context.Context, ref aclRef) (string, error) {
	creation, err := p.resolved(ctx, ref)
	if err != nil {
		return "", err
	}
	broker, err := p.anyBroker()
	if err != nil {
		return "", err
	}
	req := kmsg.NewPtrCreateACLsRequest()
	req.Version, req.Creations = p.version(req.Key(), -1), []kmsg.CreateACLsRequestCreation{creation}
	resp, err := p.ask(ctx, broker, req)
	if err != nil {
		return "", err
	}
	if code := resp.(*kmsg.CreateACLsResponse).Results[0].ErrorCode; code != 0 {
		return renderError(code), nil
	}
	p.granted = append(p.granted, creation)
	return ok, p.awaitACL(ctx, creation, true)
}

func (p *Play) deleteACL(ctx context.Context, ref aclRef) (string, error) {
	creation, err := p.resolved(ctx, ref)
	if err != nil {
		return "", err
	}
	results, err := p.deleteACLs(ctx, creation)
	if err != nil {
		return "", err
	}
	if code := results[0].ErrorCode; code != 0 {
		return renderError(code), nil
	}
	return fmt.Sprintf("%d deleted", len(results[0].MatchingACLs)), p.awaitACL(ctx, creation, false)
}

// deleteACLs deletes ACLs, one result each.
func (p *Play) deleteACLs(ctx context.Context, creations ...kmsg.CreateACLsRequestCreation) ([]kmsg.DeleteACLsResponseResult, error) {
	broker, err := p.anyBroker()
	if err != nil {
		return nil, err
	}
	req := kmsg.NewPtrDeleteACLsRequest()
	req.Version = p.version(req.Key(), -1)
	for i := range creations {
		c, f := &creations[i], kmsg.NewDeleteACLsRequestFilter()
		f.ResourceType, f.ResourceName, f.ResourcePatternType = c.ResourceType, &c.ResourceName, c.ResourcePatternType
		f.Principal, f.Host, f.Operation, f.PermissionType = &c.Principal, &c.Host, c.Operation, c.PermissionType
		req.Filters = append(req.Filters, f)
	}
	resp, err := p.ask(ctx, broker, req)
	if err != nil {
		return nil, err
	}
	return resp.(*kmsg.DeleteACLsResponse).Results, nil
}

// revokeAll deletes the ACLs that the scenario has made.
func (p *Play) revokeAll(ctx context.Context) error {
	if len(p.granted) == 0 {
		return nil
	}
	granted := p.granted
	p.granted = nil
	_, err := p.deleteACLs(ctx, granted...)
	return err
}

// awaitACL waits until every broker that runs has an ACL, or has it no more.
func (p *Play) awaitACL(ctx context.Context, c kmsg.CreateACLsRequestCreation, present bool) error {
	for _, broker := range p.brokers {
		if p.silent[broker] != "" {
			continue
		}
		err := p.until(ctx, fmt.Sprintf("wait for an ACL at broker %d", broker), func() (bool, error) {
			req := kmsg.NewPtrDescribeACLsRequest()
			req.Version = p.version(req.Key(), -1)
			req.ResourceType, req.ResourceName, req.ResourcePatternType = c.ResourceType, &c.ResourceName, c.ResourcePatternType
			req.Principal, req.Host = &c.Principal, &c.Host
			req.Operation, req.PermissionType = c.Operation, c.PermissionType
			resp, err := p.ask(ctx, broker, req)
			if err != nil {
				return false, err
			}
			return (len(resp.(*kmsg.DescribeACLsResponse).Resources) > 0) == present, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
