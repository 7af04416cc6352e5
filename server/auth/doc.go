// Package auth decides whom a credential stands for. It knows secrets, tokens
// and service accounts; it knows neither rules nor data nor HTTP handlers.
//
// An [Authority] answers two questions, one for each kind of door: [Authority.Bearer]
// for credentials of administrators (Authorization: Bearer, access_token=, and
// gauth of the realtime protocol) and [Authority.Token] for those of users (auth=
// and auth). Both answers are an [Identity], which [Authority.Check] decides again
// later: tokens expire and are revoked while a client is connected.
//
// What a token may be signed with depends on its algorithm alone, so that a
// public key never serves as a secret:
//
//	HS256         a secret, which is also an administrator's credential
//	RS256, ES256  a service account that the token names as its issuer,
//	              else a key (JWKS) of the provider whose issuer and
//	              audience it names
//	none          nothing: only dev mode believes such a token
//
// What is kept in the data directory is one small file for each thing: an
// account, a revocation. They are read when they are asked for. So a command that
// adds or removes one needs no server, a running server needs no notice, and two
// commands at a time lose nothing.
//
// Errors never contain a credential or a part of one.
package auth
