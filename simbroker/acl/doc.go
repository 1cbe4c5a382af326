// Package acl decides who may do what on the simulated cluster, as Kafka's
// StandardAuthorizer does (KIP-801): a right is a Binding of a principal to an
// operation on the resources that a pattern names, a denial outweighs every
// permission, and what no Binding speaks of is refused unless the broker was
// told otherwise.
//
// It promises StandardAuthorizer's answer for every principal, host, operation
// and resource, and the filters of DescribeAcls and DeleteAcls. It keeps no
// history and knows no wire codes: words are Kafka's own. Which right an API
// asks for is for package wire to know; who a client is, for package sasl.
package acl
