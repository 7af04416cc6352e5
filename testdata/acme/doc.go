// Package acme has only tests: of certificates that a server gets from an ACME authority.
package acme
