/**
 * Every operation of the registry, judged by what it takes, answers and is called: what gives or takes rights or shares,
 * shows, moves or replaces secrets and vendors, raises caps or deletes for good is a person's to agree to.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { loadContracts } from '#modules/contracts.ts'
import { openapi } from '#interfaces/openapi/openapi.ts'
import { byScope, credentialsFor, resourceTypeOf } from '#core/access.ts'
import type { AnyEndpoint } from '#core/contract.ts'
import { type ListedEndpoint, list } from '#core/registry.ts'

const areas = await loadContracts()
const all = list(areas)

/** Marked although no rule covers them, and why. */
const beyondTheRule: Readonly<Record<string, string>> = {
  'admin.refuse_request': 'says no to somebody in the name of the administrator',
  'computers.pair': 'answers the credential of a machine to whoever has its token',
  'automations.unarchive':
    'brings back what was paused because its agent was changed: it acts in somebody’s rights again',
}

/** Covered by a rule, and yet left to the policies of an agent's tools: which rule, and why. */
const spared: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'chats.end_goal': { 'it deletes for good': 'stops it; the goal and what it did can still be read' },
  'chats.revoke_approval': { 'it deletes for good': 'takes back one’s own yes: the next call is asked about again' },
  'chats.unpin': { 'it deletes for good': 'a mark of one’s own that `pin` sets again; the chat stays' },
  'webhooks.list': { 'it answers a secret': 'null but in the answers of `create` and `rotate_secret`' },
  'webhooks.get': { 'it answers a secret': 'null but in the answers of `create` and `rotate_secret`' },
}

/** Names of what a call takes beside its path. */
const taken = ({ body, query }: AnyEndpoint): string[] => [...Object.keys(body ?? {}), ...Object.keys(query ?? {})]

/** Names of the fields of what it answers, of each shape that it may have. */
function answered({ reply }: AnyEndpoint): string[] {
  const names = (type: z.ZodType): string[] =>
    type instanceof z.ZodObject
      ? Object.keys(type.shape)
      : type instanceof z.ZodUnion
        ? type.options.flatMap((one) => names(one as z.ZodType))
        : []
  return 'of' in reply ? names(reply.of as z.ZodType) : []
}

const path = ({ path }: AnyEndpoint): string[] =>
  path.split('/').filter((part: string) => part !== '' && !part.startsWith(':'))
const isIn = (words: readonly string[], pattern: RegExp): boolean => words.some((word) => pattern.test(word))
const has = (pattern: RegExp) => (endpoint: AnyEndpoint) => isIn(taken(endpoint), pattern)
const reads = ({ method }: AnyEndpoint): boolean => method === 'GET'
/** The thing is there already: what it is changed to may be more than what it was. */
const changesWhatIs = ({ reply, status, method }: AnyEndpoint): boolean =>
  method === 'PATCH' || method === 'PUT' || (reply.kind === 'one' && status !== 201)
const comesBack = (endpoint: AnyEndpoint): boolean =>
  all.some(({ endpoint: other }) => other.method === 'POST' && other.path === `${endpoint.path}/restore`)

const grounds: Readonly<Record<string, (endpoint: AnyEndpoint) => boolean>> = {
  'its path is about who may what': (endpoint) =>
    !reads(endpoint) && isIn(path(endpoint), /^(members|invitations|shares|exposures?|transfer|api-keys|sessions)$/),
  'it says who may what': (endpoint) =>
    !reads(endpoint) && has(/^(role|permissions|grantee|access|scopes|capabilities|allowed_models)$/)(endpoint),
  'it decides what an agent asked for': (endpoint) => !reads(endpoint) && has(/^actions$/)(endpoint),
  'it makes a link that is a right': (endpoint) =>
    !reads(endpoint) && isIn(path(endpoint), /^(signed-url|link|ticket|share)$/),
  'it answers a secret': (endpoint) => isIn(answered(endpoint), /^(token|secret|key|password|credential|.*_secret)$/),
  'it takes a secret': (endpoint) =>
    !reads(endpoint) && has(/^(api_key|token|secret|keys|credentials?|(\w+_)?password)$/)(endpoint),
  'it replaces a secret': (endpoint) => isIn(path(endpoint), /^rotate/),
  // A file has none: an agent moves it where it may write, as into a folder of that workspace.
  'it moves a thing with its secrets': (endpoint) =>
    isIn(path(endpoint), /^move$/) && has(/^workspace_id$/)(endpoint) && resourceTypeOf(endpoint.access) !== 'file',
  'it says where a thing that is there sends, and with which secrets': (endpoint) =>
    !reads(endpoint) && changesWhatIs(endpoint) && has(/^(base_url|endpoint|headers|mcp_servers)$/)(endpoint),
  'it says where events go': ({ method, path, ...endpoint }) =>
    method === 'PATCH' && 'url' in (endpoint.body ?? {}) && path !== '',
  'it raises what may be spent': (endpoint) =>
    !reads(endpoint) && changesWhatIs(endpoint) && has(/_cap_(usd|period)$|^max_cost_usd$/)(endpoint),
  'it gives money': has(/^amount_usd$/),
  'it deletes for good': (endpoint) =>
    endpoint.method === 'DELETE' && ['deleted', 'none'].includes(endpoint.reply.kind) && !comesBack(endpoint),
}

/** An endpoint of a person at sign-in, or one where a secret of its own proves who calls. */
const isAPersonsOwn = ({ access }: AnyEndpoint): boolean => credentialsFor(access) === 'none'

const why = ({ name, endpoint }: ListedEndpoint): string[] =>
  isAPersonsOwn(endpoint)
    ? []
    : Object.keys(grounds).filter((ground) => grounds[ground]!(endpoint) && spared[name]?.[ground] === undefined)

for (const listed of all)
  test(`the consent of ${listed.name} follows the rules`, () => {
    const found = why(listed)
    const { name, endpoint } = listed
    if (endpoint.consent === undefined)
      assert.deepEqual(found, [], `${name} lacks \`consent: 'person'\` in its contract: ${found.join('; ')}`)
    else
      assert.ok(
        found.length > 0 || name in beyondTheRule,
        `${name} is marked, and no rule covers it: say why in \`beyondTheRule\`, or take the mark away`,
      )
  })

test('each rule covers an operation, and listed exceptions are covered by none', () => {
  for (const ground of Object.keys(grounds))
    assert.ok(
      all.some((one) => why(one).includes(ground)),
      ground,
    )
  for (const name of Object.keys(beyondTheRule)) {
    const listed = all.find((one) => one.name === name)
    assert.deepEqual([listed?.endpoint.consent, listed && why(listed)], ['person', []], name)
  }
})

test('an operation missing its consent mark is detected by scope, path, response or fields', () => {
  const base = { summary: '', access: byScope('workspace:write'), reply: { kind: 'deleted' } } as const
  const made: [string, Partial<AnyEndpoint> & { method: AnyEndpoint['method']; path: string }][] = [
    ['it deletes for good', { method: 'DELETE', path: '/things/:id' }],
    ['it says who may what', { method: 'POST', path: '/things', body: { role: z.string() } }],
    ['it takes a secret', { method: 'PUT', path: '/things', body: { api_key: z.string() } }],
    ['it raises what may be spent', { method: 'PATCH', path: '/things/:id', body: { spend_cap_usd: z.number() } }],
    [
      'it answers a secret',
      { method: 'GET', path: '/things', reply: { kind: 'one', of: z.object({ secret: z.string() }) } },
    ],
  ]
  for (const [ground, endpoint] of made)
    assert.ok(
      why({ name: 'x.y', verb: 'y', area: areas[0]!, endpoint: { ...base, ...endpoint } }).includes(ground),
      ground,
    )
})

test('openapi.json states which operations need consent', () => {
  const { paths } = openapi(areas, { origin: 'http://x', version: '2026-11-21' })
  const said = Object.values(paths).flatMap((methods) => Object.values(methods))
  const marked = said.filter((one) => one['x-uk-consent'] === 'person').map(({ operationId }) => operationId)
  const expected = all
    .filter(({ endpoint }) => endpoint.consent !== undefined)
    .map(({ name }) => name.replace('.', '_'))
  assert.deepEqual(marked.toSorted(), expected.toSorted())
  assert.ok(marked.length > 26)
})
