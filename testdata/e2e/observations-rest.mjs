// Observations that were made over REST: reads, and uploads of rules.

import assert from 'node:assert/strict'
import { only } from './observations-format.mjs'
import { stage } from './observations-stage.mjs'

/** Plays an observation whose `when.via` is "rest". */
export async function playRest(t, server, { given, when, then }) {
  const s = await stage(t, server, given)
  if (when.op === 'rules-dry-run') return dryRun(s, when, then)
  if (when.op === 'rules-dry-run-each') return dryRunEach(s, when, then)
  if (when.op === 'PUT') return put(s, when, then)
  if (when.op === 'GET') return getDocument(s, when, then)
  if (when.steps) return steps(s, when, then)
  return getNode(s, when, then)
}

// dryRun checks a document that consists of one rule.
async function dryRun(s, when, then) {
  const { kind, at, expression } = only(when, 'via', 'op', 'kind', 'at', 'expression')
  refused(await check(s, kind, at, expression), then)
}

// dryRunEach puts one operand after the other into the place of the @.
async function dryRunEach(s, when, then) {
  const { kind, at, template, samples } = only(when, 'via', 'op', 'kind', 'at', 'template', 'samples')
  const { accepted, refused } = only(then, 'accepted', 'refused')
  const got = { accepted: [], refused: {} }
  for (const [name, sample] of Object.entries(samples)) {
    const { status, messages } = await check(s, kind, at, template.replaceAll('@', () => sample))
    if (status === 200) got.accepted.push(name)
    else (got.refused[messages.join('\n')] ??= []).push(name)
  }
  assert.deepEqual(got, { accepted, refused })
}

function check(s, kind, at, expression) {
  const keys = at.split('/').filter(Boolean)
  const node = keys.reduceRight((node, key) => ({ [key]: node }), { [`.${kind}`]: expression })
  return s.upload(JSON.stringify({ rules: node }), { dryRun: 'true' })
}

function refused({ status, messages }, then) {
  only(then, 'status', 'message')
  assert.equal(status, then.status, messages.join('\n'))
  assert.deepEqual(messages, then.message === undefined ? [] : [then.message])
}

async function put(s, when, then) {
  const { path, query, body, bodyGenerator } = only(when, 'via', 'op', 'path', 'query', 'body', 'bodyGenerator')
  assert.equal(path, '/.settings/rules.json')
  refused(await s.upload(body ?? generated(bodyGenerator), query), then)
}

// generated makes a large document from its description.
function generated(text) {
  const [, count, length, rule] =
    /^(\d+) children of one node, each with a (\d+) character key and \.read "(\w+)"$/.exec(text)
  const keys = Array.from({ length: count }, (_, i) => `k${i}`.padEnd(length, '-'))
  return JSON.stringify({ rules: { node: Object.fromEntries(keys.map(key => [key, { '.read': rule }])) } })
}

// steps uploads rules and reads them back.
async function steps(s, when, then) {
  const [upload, read] = only(when, 'via', 'steps').steps
  only(upload, 'PUT', 'body', 'status')
  only(read, 'GET', 'status')
  assert.equal(upload.PUT, '/.settings/rules.json')
  refused(await s.upload(JSON.stringify(upload.body)), { status: upload.status })
  const response = await s.call({ path: read.GET })
  assert.equal(response.status, read.status)
  assert.equal(only(then, 'equalTo').equalTo, 'uploaded document, booleans still booleans, index list in order')
  assert.deepEqual(await response.json(), upload.body)
}

// getDocument reads a URL as it is written, with its suffix or without.
async function getDocument(s, when, then) {
  const { path } = only(when, 'via', 'op', 'path')
  only(then, 'status', 'contentType', 'contentTypePrefix', 'body', 'note')
  const response = await s.call({ path })
  const type = response.headers.get('content-type')
  const body = await response.text()
  if ('status' in then) assert.equal(response.status, then.status)
  if ('contentType' in then) assert.equal(type, then.contentType)
  if ('contentTypePrefix' in then) assert.equal(type?.slice(0, then.contentTypePrefix.length), then.contentTypePrefix)
  if ('body' in then) assert.deepEqual(JSON.parse(body), then.body)
}

// getNode reads a node with a query.
async function getNode(s, when, then) {
  const { path, query } = only(when, 'via', 'path', 'query')
  only(then, 'status', 'error', 'keys', 'keysInBodyOrder')
  const response = await s.call({ path: `${path}.json`, query })
  const body = await response.json() // keeps the order of keys that are not numbers
  assert.equal(response.status, then.status)
  if ('error' in then) assert.deepEqual(body, { error: then.error })
  if ('keys' in then) assert.deepEqual(Object.keys(body).sort(), then.keys)
  if ('keysInBodyOrder' in then) assert.deepEqual(Object.keys(body), then.keysInBodyOrder)
}
