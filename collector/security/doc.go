// Package security secures the connections to a cluster's brokers: TLS, client
// certificates, and logins by SASL PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 and
// OAUTHBEARER with the client credentials of an OAuth 2.0 client (RFC 6749,
// section 4.4).
//
// What it guarantees:
//
//   - Files and secrets are read for each connection. A certificate, a key, an
//     authority or a password that was replaced counts from the next connection
//     on; a file that is bad meanwhile leaves what was read before in use.
//   - A broker that refuses the certificate or the login, or whose own
//     certificate is refused, is left alone for a while that grows: see gate. No
//     other broker is. New files or secrets end the wait.
//   - A token is asked for by one request at a time, is used by all connections,
//     and is renewed before it expires: see tokens.
//   - Errors are [Error]s, in words for those who look after the exporter. They
//     hold no secret.
//
// franz-go speaks the mechanisms; Kerberos is left out.
//
//	kgo ─dial─▶ gate ─▶ tokens ─▶ TCP ─▶ TLS ─▶ kgo: ApiVersions, SaslHandshake, SaslAuthenticate
//	             ▲                                │
//	             └────────── how it went ─────────┘
package security
