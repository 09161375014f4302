/**
 * Access granted through one server process applies in another at once. The other process has refused the same call
 * before, so it knows the caller without the access.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type pg from 'pg'
import { watchRights } from '#authz/rights.ts'
import { createAuthority } from '#modules/accounts/sign-in/authority.ts'
import { connectBus } from '#infra/bus/bus.ts'
import { connectPostgres } from '#infra/postgres/client.ts'
import { pairedComputer } from '../makers.ts'
import { type Answer, type Caller, type Person, caller } from '../server.ts'
import { bring, hello } from '../endpoints/house.ts'
import { twoServers } from '../two-servers.ts'
import { startOpenAI } from '../vendors/openai/openai.ts'

const vendor = await startOpenAI({ key: 'sk-of-the-team-0123456789' })
after(() => vendor[Symbol.asyncDispose]())
const { server, twin, alice } = await twoServers({
  environment: { UK_LIMIT_READS: '0', UK_LIMIT_WRITES: '0', UK_UPSTREAM_ALLOW: '127.0.0.1' },
})
const at = (who: Caller): Caller => caller(twin.origin, who.headers)

interface Scenario {
  there: Caller
  use(there: Caller): Promise<Answer>
  give(): Promise<unknown>
  /** Null: nothing can be requested without access. */
  refused: number[] | null
}

function ok(answer: Answer): Answer {
  assert.ok(answer.status < 300, `${answer.status} ${answer.text}`)
  return answer
}

let people = 0
const person = (): Promise<Person> => server.person(`Person ${(people += 1)}`)
const team = async (owner: Person = alice): Promise<string> =>
  ok(await owner.post('/workspaces', { name: 'Team' })).body.data.id
const chatIn = async (workspace: string): Promise<string> =>
  ok(await alice.post('/chats', { workspace_id: workspace })).body.data.id

async function invite(workspace: string, who: Person, role: string): Promise<string> {
  const invitation = ok(await alice.post(`/workspaces/${workspace}/invitations`, { email: who.email, role }))
  return invitation.body.data.token
}

async function join(workspace: string, who: Person, role: string): Promise<void> {
  ok(await who.post('/invitations/accept', { token: await invite(workspace, who, role) }))
}

const rights: Record<string, () => Promise<Scenario>> = {
  'a new workspace, read': async () => {
    let id = ''
    return {
      there: at(alice),
      give: async () => void (id = await team()),
      use: (there) => there.get(`/workspaces/${id}`),
      refused: null,
    }
  },
  'a new workspace, in the list': async () => {
    let id = ''
    return {
      there: at(alice),
      give: async () => void (id = await team()),
      use: async (there) => {
        const answer = await there.get('/workspaces?limit=100')
        return { ...answer, status: answer.text.includes(id) ? 200 : 404 }
      },
      refused: null,
    }
  },
  'a new workspace, written to': async () => {
    let id = ''
    return {
      there: at(alice),
      give: async () => void (id = await team()),
      use: (there) => there.post('/chats', { workspace_id: id }),
      refused: null,
    }
  },
  'an accepted invitation': async () => {
    const [workspace, bob] = [await team(), await person()]
    const chat = await chatIn(workspace)
    const token = await invite(workspace, bob, 'member')
    return {
      there: at(bob),
      give: async () => ok(await bob.post('/invitations/accept', { token })),
      use: (there) => there.get(`/chats/${chat}`),
      refused: [404],
    }
  },
  'an accepted invitation, in a list of what the workspace has': async () => {
    const [workspace, bob] = [await team(), await person()]
    const chat = await chatIn(workspace)
    const token = await invite(workspace, bob, 'member')
    return {
      there: at(bob),
      give: async () => ok(await bob.post('/invitations/accept', { token })),
      use: async (there) => {
        const answer = await there.get('/chats?limit=100')
        return { ...answer, status: answer.text.includes(chat) ? 200 : 404 }
      },
      refused: [404],
    }
  },
  'a share': async () => {
    const [workspace, bob] = [await team(), await person()]
    const chat = await chatIn(workspace)
    await server.app.engine.postgres.pool.query('update accounts set email_verified_at = now() where id = $1', [bob.id])
    return {
      there: at(bob),
      give: async () =>
        ok(
          await alice.post('/shares', {
            resource_type: 'chat',
            resource_id: chat,
            grantee: { email: bob.email },
            access: 'view',
          }),
        ),
      use: (there) => there.get(`/chats/${chat}`),
      refused: [404],
    }
  },
  'a raised role': async () => {
    const [workspace, bob] = [await team(), await person()]
    await join(workspace, bob, 'viewer')
    return {
      there: at(bob),
      give: async () => ok(await alice.patch(`/workspaces/${workspace}/members/${bob.id}`, { role: 'admin' })),
      use: (there) => there.post('/chats', { workspace_id: workspace }),
      refused: [403],
    }
  },
  'wider permissions': async () => {
    const [workspace, bob] = [await team(), await person()]
    await join(workspace, bob, 'member')
    ok(await alice.patch(`/workspaces/${workspace}/members/${bob.id}`, { permissions: ['settings:read'] }))
    const chat = await chatIn(workspace)
    return {
      there: at(bob),
      give: async () => ok(await alice.patch(`/workspaces/${workspace}/members/${bob.id}`, { permissions: null })),
      use: (there) => there.get(`/chats/${chat}`),
      refused: [403],
    }
  },
  'a workspace out of the archive': async () => {
    const workspace = await team()
    const chat = await chatIn(workspace)
    ok(await alice.post(`/workspaces/${workspace}/archive`))
    return {
      there: at(alice),
      give: async () => ok(await alice.post(`/workspaces/${workspace}/unarchive`)),
      use: (there) => there.patch(`/chats/${chat}`, { title: 'x' }),
      refused: [409],
    }
  },
  'a new key': async () => {
    let key: Caller = alice
    return {
      there: at(alice),
      give: async () => void (key = await alice.key()),
      use: () => at(key).get('/me'),
      refused: null,
    }
  },
  'a key with more scopes': async () => {
    const key = await alice.key({ scopes: ['user:read'] })
    return {
      there: at(key),
      give: async () => ok(await alice.patch(`/api-keys/${key.keyId}`, { scopes: ['user:read', 'chat:read'] })),
      use: (there) => there.get('/chats'),
      refused: [403],
    }
  },
  'a key with more scopes, at the gateway': async () => {
    const key = await alice.key({ scopes: ['user:read'] })
    return {
      there: at(key),
      give: async () => ok(await alice.patch(`/api-keys/${key.keyId}`, { scopes: ['user:read', 'gateway:run'] })),
      use: (there) =>
        there.post('/compat-a/v1/chat/completions', {
          model: 'sim/echo',
          messages: [{ role: 'user', content: 'hello' }],
        }),
      refused: [401, 403],
    }
  },
  'a new provider endpoint, at the gateway': async () => {
    const [workspace, slug] = [await team(), `own${(people += 1)}`]
    const key = await alice.key({ workspace_id: workspace })
    return {
      there: at(key),
      give: () => bring(alice, vendor, slug, { workspace_id: workspace }),
      use: (there) => there.post('/compat-a/v1/chat/completions', hello(`${slug}/gpt-4o`)),
      refused: [404],
    }
  },
  'a new exposure of a computer': async () => {
    const [workspace, bob] = [await team(), await person()]
    await join(workspace, bob, 'member')
    const { id } = await pairedComputer(alice, { allows: ['exec'] })
    return {
      there: at(bob),
      give: async () =>
        ok(await alice.post(`/computers/${id}/exposures`, { workspace_id: workspace, capabilities: ['exec'] })),
      use: (there) => there.get(`/computers/${id}`),
      refused: [404],
    }
  },
  'a computer of a team that the caller joins': async () => {
    const [workspace, bob] = [await team(), await person()]
    const { id } = await pairedComputer(alice, { workspace_id: workspace, allows: ['exec'] })
    const token = await invite(workspace, bob, 'member')
    return {
      there: at(bob),
      give: async () => ok(await bob.post('/invitations/accept', { token })),
      use: (there) => there.get(`/computers/${id}`),
      refused: [404],
    }
  },
  'a new grant on a computer': async () => {
    const [workspace, bob] = [await team(), await person()]
    await join(workspace, bob, 'member')
    const { id } = await pairedComputer(alice, { allows: ['exec', 'fs_read'] })
    ok(await alice.post(`/computers/${id}/exposures`, { workspace_id: workspace, capabilities: ['fs_read'] }))
    return {
      there: at(bob),
      give: async () =>
        ok(await alice.patch(`/computers/${id}/exposures/${workspace}`, { capabilities: ['fs_read', 'exec'] })),
      use: async (there) => {
        const answer = await there.post(`/computers/${id}/exec`, { command: 'true' })
        // Offline is reported only to callers with access.
        return answer.body?.error?.code === 'computer_offline' ? { ...answer, status: 200 } : answer
      },
      refused: [403],
    }
  },
  'a new session': async () => {
    const bob = await person()
    let cookie = ''
    return {
      there: at(bob),
      give: async () => {
        const answer = await server.stranger.post(
          '/auth/sign-in',
          { email: bob.email, password: bob.password },
          { 'x-uk-csrf': '1' },
        )
        cookie = ok(answer).headers.get('set-cookie')!.split(';')[0]!
      },
      use: () => caller(twin.origin, { cookie, 'x-uk-csrf': '1' }).get('/me'),
      refused: null,
    }
  },
}

for (const [title, make] of Object.entries(rights))
  test(`${title} applies in another process at once`, async () => {
    // Repeated, because success by chance isn't enough.
    for (let time = 0; time < 3; time += 1) {
      const { there, use, give, refused } = await make()
      await there.get('/me')
      if (refused !== null) {
        const before = await use(there)
        assert.ok(refused.includes(before.status), `before: ${before.status} ${before.text}`)
      }
      await give()
      ok(await use(there))
    }
  })

test('concurrent refused strangers share one read of changes and cause no lookups', async () => {
  await using bus = await connectBus(twin.app.engine.postgres, twin.app.engine.log)
  await using connections = connectPostgres(twin.database.connection, () => {})
  let statements = 0
  const pool: pg.Pool = Object.create(connections.pool, {
    query: {
      value: (...args: Parameters<pg.Pool['query']>) => {
        statements += 1
        return connections.pool.query(...args)
      },
    },
  })
  const postgres = { ...connections, pool }
  const { log } = twin.app.engine
  await using changes = await watchRights(postgres, bus, log)
  await using authority = createAuthority({ postgres, bus, log, rights: changes, processes: () => 2 })
  const principal = await authority.byKey((await alice.key()).key)
  statements = 0
  const principals = await Promise.all(Array.from({ length: 500 }, () => authority.renew(principal)))
  assert.equal(new Set(principals).size, 1)
  // Changes are also polled by a timer, which may run here on a busy machine.
  assert.ok(statements < 20, `${statements} statements`)
})
