/**
 * Calls every endpoint with a resource as its creator in each possible role, and derives the expected result from the
 * contract. Creating a workspace resource grants no lasting access.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { loadContracts } from '#modules/contracts.ts'
import { type ResourceAccess } from '#core/access.ts'
import { type AnyEndpoint, pathNames } from '#core/contract.ts'
import { type ListedEndpoint, list } from '#core/registry.ts'
import { type Role, type Scope, atLeast, roleFor } from '#core/scopes.ts'
import { pathOf, requiredFields, validBody } from './least-call.ts'
import { makers } from '../makers.ts'
import { type Answer, type Caller, type Person, type TestServer, testServer } from '../server.ts'

const all = list(await loadContracts())
type ResourceEndpoint = AnyEndpoint & { access: ResourceAccess }
const finding = all.filter(
  (item): item is ListedEndpoint & { endpoint: ResourceEndpoint } => item.endpoint.access.kind === 'resource',
)

const ofAccount = new Set(['notification', 'push_subscription'])
const shareable = new Set(['agent', 'chat', 'file'])

let server: TestServer
let owner: Person
before(async () => {
  server = await testServer({ environment: { UK_LIMIT_READS: '0', UK_LIMIT_WRITES: '0', UK_LIMIT_SEARCHES: '0' } })
  owner = await server.person('Olga Owner')
})
after(() => server[Symbol.asyncDispose]())

/** The expected result of `permit`: admitted, or refused with this status and code. */
type Verdict = 'in' | readonly [status: number, code: string]
const hidden = [404, 'not_found'] as const
const role = [403, 'insufficient_role'] as const
const denied = [403, 'capability_denied'] as const
const state = [409, 'invalid_state'] as const

const scopeOn = ({ access }: ResourceEndpoint): Scope => access.resourceScope ?? access.scope
const roleOn = (endpoint: ResourceEndpoint): Role =>
  endpoint.access.role ?? (uses(endpoint) ? 'member' : roleFor(scopeOn(endpoint)))
/** Endpoints with a capability act on a machine, even if they only read: viewers and archived workspaces have none. */
const uses = ({ access, errors }: ResourceEndpoint): boolean =>
  // The capability of `POST …/fs` depends on the operation.
  access.capability !== undefined || errors?.includes('capability_denied') === true
const reads = (endpoint: ResourceEndpoint): boolean =>
  !uses(endpoint) && (endpoint.method === 'GET' || scopeOn(endpoint).endsWith(':read'))

type Change = (team: Team, things: Thing[]) => Promise<unknown>
interface Situation {
  change?: Change
  caller?: (team: Team) => Promise<Caller>
  /** For workspace resources. */
  judge: (endpoint: ResourceEndpoint) => Verdict
  /** For account resources, which stay accessible. */
  judgeOwn?: (endpoint: ResourceEndpoint) => Verdict
  unseen?: true
  kinds?: ReadonlySet<string>
}
interface Team {
  id: string
  maker: Person
}
interface Thing {
  item: ListedEndpoint & { endpoint: ResourceEndpoint }
  id: string
  team: Team
}

const regrant =
  (grant: object): Change =>
  async ({ id, maker }) =>
    ok(await owner.patch(`/workspaces/${id}/members/${maker.id}`, grant))
const remove: Change = async ({ id, maker }) => ok(await owner.delete(`/workspaces/${id}/members/${maker.id}`))

/** The result with only a share: 404 without one, 403 for more than it grants. */
const byShare =
  (access: 'view' | 'edit') =>
  (endpoint: ResourceEndpoint): Verdict => {
    const { share, role: ownRole } = endpoint.access
    const requiredShare = share ?? (scopeOn(endpoint).endsWith(':read') && ownRole === undefined ? 'view' : 'none')
    return requiredShare === 'none' || (requiredShare === 'edit' && access === 'view') ? role : 'in'
  }
const share =
  (access: string): Change =>
  async (team, things) => {
    for (const { item, id } of things)
      ok(
        await owner.post('/shares', {
          resource_type: item.endpoint.access.type,
          resource_id: id,
          grantee: { email: team.maker.email },
          access,
        }),
      )
    await server.app.engine.postgres.pool.query('update accounts set email_verified_at = now() where id = $1', [
      team.maker.id,
    ])
    await remove(team, things)
  }
/** A workspace-bound key sees notifications from that workspace and can't change the account. */
const ofKey = ({ access }: ResourceEndpoint): Verdict => (access.type === 'notification' ? hidden : denied)
const trash: Change = async (_, things) => {
  for (const { item, id } of things) {
    const at = all.find(({ area, verb }) => area === item.area && verb === 'trash')!
    ok(await owner.request('DELETE', pathOf(at.endpoint, id)))
  }
}

const situations: Record<string, Situation> = {
  'an ex-member gets 404': { change: remove, judge: () => hidden, unseen: true },
  'an ex-member’s key to the workspace finds nothing': {
    caller: async ({ id, maker }) => {
      const key = await maker.key({ workspace_id: id })
      await remove({ id, maker }, [])
      return key
    },
    judge: () => hidden,
    judgeOwn: ofKey,
    unseen: true,
  },
  'a key bound to another workspace finds nothing': {
    caller: ({ maker }) => maker.key({ workspace_id: maker.workspaceId }),
    judge: () => hidden,
    judgeOwn: ofKey,
    unseen: true,
  },
  'a viewer reads': {
    change: regrant({ role: 'viewer' }),
    judge: (endpoint) => (atLeast('viewer', roleOn(endpoint)) ? 'in' : role),
  },
  'a member has member access': {
    change: regrant({ role: 'member' }),
    judge: (endpoint) => (atLeast('member', roleOn(endpoint)) ? 'in' : role),
  },
  'restricted permissions also apply to resources created earlier': {
    change: regrant({ permissions: ['settings:read'] }),
    judge: (endpoint) => {
      const scope = scopeOn(endpoint)
      return scope === 'user:read' ? 'in' : role
    },
  },
  'an archived workspace is read-only': {
    change: async ({ id }) => ok(await owner.post(`/workspaces/${id}/archive`)),
    judge: (endpoint) =>
      // Lacking the role is reported first.
      !atLeast('admin', roleOn(endpoint))
        ? role
        : reads(endpoint) || endpoint.access.inArchivedWorkspace || endpoint.access.type === 'workspace'
          ? 'in'
          : state,
  },
  'a trashed resource is read-only': {
    kinds: shareable,
    change: trash,
    judge: (endpoint) => (reads(endpoint) || endpoint.access.inTrash ? 'in' : state),
  },
  'an ex-member with a view share can view': {
    kinds: shareable,
    change: share('view'),
    judge: byShare('view'),
  },
  'an ex-member with an edit share can edit': {
    kinds: shareable,
    change: share('edit'),
    judge: byShare('edit'),
  },
  'a shared resource in the trash is hidden': {
    kinds: shareable,
    change: async (team, things) => {
      await share('edit')(team, things)
      await trash(team, things)
    },
    judge: () => hidden,
    unseen: true,
  },
}

let madeCount = 0
for (const [title, situation] of Object.entries(situations))
  describe(title, () => {
    const { kinds, change, judge, judgeOwn = () => 'in' } = situation
    const targets = finding.filter(({ endpoint }) => kinds === undefined || kinds.has(endpoint.access.type))

    test(`${targets.length} endpoints`, async () => {
      const maker = await server.person(`Maker ${(madeCount += 1)}`)
      const sharedTeam = await teamOf(maker)
      const expectedOf = ({ endpoint }: Thing['item']): Verdict =>
        ofAccount.has(endpoint.access.type) ? judgeOwn(endpoint) : judge(endpoint)
      const things: Thing[] = []
      const unchangedThings = new Map<string, Thing>()
      for (const item of targets) {
        const on = item.endpoint.access.type
        // An admitted call may change its resource or workspace, so each gets its own. The others share one.
        const changes = expectedOf(item) === 'in' && item.endpoint.method !== 'GET'
        const cachedThing = changes ? undefined : unchangedThings.get(on)
        const team = on === 'workspace' && changes ? await teamOf(maker) : sharedTeam
        const id = cachedThing?.id ?? (on === 'workspace' ? team.id : await makers[on]!(maker, team.id))
        const thing = { item, team, id }
        things.push(thing)
        if (!changes) unchangedThings.set(on, thing)
      }
      const each = [...new Map(things.map((thing) => [thing.id, thing])).values()]
      const teams = [...new Set(things.map(({ team }) => team))]
      for (const team of teams)
        await change?.(
          team,
          each.filter((thing) => thing.team === team),
        )
      const wrong: unknown[] = []
      const callers = new Map<Team, Caller>()
      for (const team of teams) callers.set(team, (await situation.caller?.(team)) ?? maker)
      for (const { item, id, team } of things) {
        const { endpoint, name } = item
        const expected = expectedOf(item)
        const answer = await ask(callers.get(team)!, item, id)
        if (!fits(answer, endpoint, expected)) wrong.push([name, expected, answer.status, answer.body?.error])
      }
      assert.deepEqual(wrong, [])
    })

    if (situation.unseen)
      test('lists, searches and channels', async () => {
        const maker = await server.person(`Maker ${(madeCount += 1)}`)
        const team = await teamOf(maker)
        const things: Thing[] = []
        for (const item of new Map(targets.map((target) => [target.endpoint.access.type, target])).values()) {
          const kind = item.endpoint.access.type
          if (kind !== 'workspace' && !ofAccount.has(kind))
            things.push({ item, team, id: await makers[kind]!(maker, team.id) })
        }
        const ids = [team.id, ...things.map(({ id }) => id)]
        await change?.(team, things)
        const caller = (await situation.caller?.(team)) ?? maker
        const wrong: unknown[] = []
        for (const { endpoint, name, area } of all) {
          // Notifications sent during a membership remain.
          if (area.name === 'notifications' && situation.judgeOwn === undefined) continue
          const { kind: rule } = endpoint.access
          const lists = ['workspace', 'scope', 'account', 'personal'].includes(rule) && endpoint.method === 'GET'
          if (!lists || endpoint.reply.kind === 'stream') continue
          if (pathNames(endpoint.path).length > 0) continue
          for (const within of [{}, { workspace_id: team.id }]) {
            const query = new URLSearchParams(requiredFields(endpoint))
            for (const [key, value] of Object.entries(within)) if (key in (endpoint.query ?? {})) query.set(key, value)
            if ('q' in (endpoint.query ?? {})) query.set('q', 'Helper Talk Report hello Team')
            const answer = await caller.get(`${endpoint.path}?${query.toString()}`)
            // A person's own calls stay in their usage, with the workspace's ID but no other data.
            const isOwnUsage = name === 'ai_gateway.usage_export' && situation.judgeOwn === undefined
            for (const id of ids)
              if (answer.status < 300 && answer.text.includes(id) && !(isOwnUsage && id === team.id))
                wrong.push([name, within, id])
          }
        }
        for (const id of ids)
          for (const kind of ['workspace', 'chat', 'operation'])
            if ((await caller.get(`/realtime/${kind}:${id}/presence`)).status !== 404) wrong.push([kind, id])
        assert.deepEqual(wrong, [])
      })
  })

async function teamOf(maker: Person): Promise<Team> {
  const { id } = ok(await owner.post('/workspaces', { name: 'Team of many' })).body.data
  const invitation = ok(await owner.post(`/workspaces/${id}/invitations`, { email: maker.email, role: 'admin' }))
  ok(await maker.post('/invitations/accept', { token: invitation.body.data.token }))
  return { id, maker }
}

function ok(answer: Answer): Answer {
  assert.ok(answer.status < 300, answer.text)
  return answer
}

async function ask(caller: Caller, { endpoint }: ListedEndpoint, id: string): Promise<Answer> {
  const body = endpoint.takes === 'bytes' ? '' : validBody(endpoint)
  const headers = endpoint.takes === 'bytes' ? { 'content-type': 'application/offset+octet-stream' } : {}
  const payload = endpoint.method === 'GET' ? undefined : body
  return caller.request(endpoint.method, pathOf(endpoint, id) + requiredFields(endpoint), payload, headers)
}

function fits({ status, body }: Answer, { path, access }: ResourceEndpoint, expected: Verdict): boolean {
  const error = body?.error ?? {}
  const code = error.code ?? error.type
  if (expected !== 'in') return status === expected[0] && code === expected[1]
  // The handler's response to an admitted call doesn't matter here.
  if (status === 401 || status === 403) return false
  if (status === 404) return error.param !== pathNames(path)[0]
  // Some settings of an archived workspace itself can be changed, as its module defines.
  return access.type === 'workspace' || !(code === 'invalid_state' && error.details?.allowed?.includes('unarchive'))
}
