// Package sasl is the broker's side of a login: the mechanisms PLAIN (RFC 4616),
// SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677) and OAUTHBEARER (RFC 7628)
// as Kafka has them, and what a broker keeps of its users: JAAS lines for PLAIN,
// credentials for SCRAM (KIP-554), keys for tokens (KIP-768).
//
// It promises Kafka's answer to every token of a client, and to a wrong one the
// words that Kafka lets out, which tell nothing of what users there are. Tokens
// come and go by package wire; which user may do what is for package acl to
// say. GSSAPI and delegation tokens are left out.
package sasl
