import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { random } from '../../bench/search/world.ts'
import { upload } from '../drive/drive.ts'
import type { Db } from '#infra/postgres/client.ts'
import { type Caller, type Person, type TestServer, testServer } from '../server.ts'

interface Asker {
  who: Caller
  person: Person
  /** Null: a session. */
  scopes: string[] | null
  /** The workspace that its key is bound to. */
  only: string | null
}

interface Right {
  id: string
  /** Found by its name and its content by everybody who may: a file. */
  file: boolean
  trashed: boolean
  own: boolean
}

/** The people and things of a run, and the seed's random choices. */
interface Town {
  owner: Person
  people: Person[]
  /** Workspaces with members, besides the personal ones. */
  shared: string[]
  askers: Asker[]
  folders: string[]
  files: string[]
  chats: string[]
  shares: string[]
  next: () => number
  one: <T>(all: readonly T[]) => T
}

/**
 * Random people, workspaces, roles, permissions, keys, shares, moved and trashed files, and archived chats. After each
 * change someone searches, greps, globs and lists folders and the trash. A result beyond the asker's access is a leak. A
 * file within it that glob or grep miss is lost. Returns the number of checked responses.
 */
export async function fuzzAccess(cases: number, seed: number): Promise<number> {
  await using server = await testServer({
    environment: { UK_LIMIT_SEARCHES: '0', UK_LIMIT_WRITES: '0', UK_LIMIT_READS: '0' },
  })
  const town = await settle(server, seed)
  const { askers, folders, next, one } = town
  const { makeFile, makeChat, share, changes } = changesIn(town)
  const db = server.app.engine.postgres.db
  let checked = 0
  let found = 0
  let byShare = 0
  for (const begin of [makeFile, makeFile, makeFile, makeFile, makeChat, makeChat, share, share, share, share])
    await begin()
  for (let i = 0; checked < cases; i++) {
    await one(changes)()
    for (let k = 0; k < 4; k++) {
      const asker = one(askers)
      const inTrash = next() < 0.3
      const paths = [
        '/search?q=okapi&limit=100',
        '/drive/grep?pattern=okapi&mode=files&limit=100',
        '/drive/glob?pattern=okapi*&limit=100',
        `/drive/files?parent_id=${one(folders)}&limit=100${inTrash ? '&status=trashed' : ''}`,
      ]
      const path = one(paths)
      const listed = path.startsWith('/drive/files')
      const answer = await asker.who.get(path)
      const right = await allowed(db, asker)
      const rows: { id?: string; file_id?: string }[] = answer.status === 200 ? answer.body.data : []
      if (answer.status !== 200) assert.ok(answer.status === 403 || (listed && answer.status === 404), answer.text)
      const about = `seed ${seed}, step ${i}: ${asker.person.name} by ${path}`
      const ids = new Set(rows.map(({ id, file_id }) => id ?? file_id!))
      for (const id of ids) assert.equal(right.get(id)?.trashed, listed && inTrash, `${about} found ${id}`)
      // Search follows within a second; these two are to find at once everything there is.
      if (answer.status === 200 && /grep|glob/.test(path) && !answer.body.pagination.has_more)
        for (const { id, file, trashed } of right.values())
          assert.ok(!file || trashed || ids.has(id), `${about} did not find ${id}`)
      checked++
      found += ids.size
      byShare += [...ids].filter((id) => !right.get(id)!.own).length
    }
  }
  assert.ok(found > checked / 4, `only ${found} finds in ${checked} answers: nothing was at stake`)
  assert.ok(byShare > checked / 40, `only ${byShare} finds by shares in ${checked} answers`)
  return checked
}

async function settle(server: TestServer, seed: number): Promise<Town> {
  const next = random(seed)
  const one = <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)]!
  const people = await Promise.all(['Ada', 'Bo', 'Cy', 'Di'].map((name) => server.person(name)))
  const owner = people[0]!
  const workspaces: string[] = people.map(({ workspaceId }) => workspaceId)
  for (let i = 0; i < 3; i++) {
    const { id } = (await owner.post('/workspaces', { name: `W${i}` })).body.data
    workspaces.push(id)
    for (const person of people.slice(1)) {
      const { token } = (
        await owner.post(`/workspaces/${id}/invitations`, { email: person.email, role: one(['viewer', 'member']) })
      ).body.data
      await person.post('/invitations/accept', { token })
    }
  }
  const shared = workspaces.slice(4)
  const askers: Asker[] = people.map((person) => ({ who: person, person, scopes: null, only: null }))
  for (const person of people)
    for (const scopes of [['search:read', 'drive:read'], ['search:read', 'chat:read'], ['*']]) {
      const only = next() < 0.4 ? one([person.workspaceId, ...shared]) : null
      askers.push({ who: await person.key({ scopes, ...(only && { workspace_id: only }) }), person, scopes, only })
    }
  const folders: string[] = []
  for (const workspace of [...shared, owner.workspaceId])
    for (let i = 0; i < 2; i++)
      folders.push((await owner.post('/drive/files/folders', { workspace_id: workspace, name: `f${i}` })).body.data.id)
  const files: string[] = []
  const chats: string[] = []
  const shares: string[] = []
  return { owner, people, shared, askers, folders, files, chats, shares, next, one }
}

function changesIn({ owner, people, shared, folders, files, chats, shares, next, one }: Town) {
  const makeFile = async () =>
    files.push(
      (
        await upload(
          owner,
          next() < 0.7 ? { parent_id: one(folders) } : { workspace_id: one([owner.workspaceId, ...shared]) },
          Buffer.from('okapi text'),
          `okapi${files.length}-${Math.floor(next() * 1e9)}.txt`,
        )
      ).body.data?.id,
    )
  const makeChat = async () =>
    chats.push(
      (
        await owner.post('/chats', {
          title: `okapi ${chats.length}`,
          workspace_id: one([owner.workspaceId, ...shared]),
        })
      ).body.data.id,
    )
  const share = async () => {
    const [resource_type, of] = one([['file', files] as const, ['folder', folders] as const, ['chat', chats] as const])
    if (of.length === 0) return
    const person = one(people.slice(1))
    const grantee = next() < 0.7 ? { user_id: person.id } : { workspace_id: one([...shared, person.workspaceId]) }
    const access = one(['view', 'edit'])
    const { body } = await owner.post('/shares', { resource_type, resource_id: one(of), grantee, access })
    if (body.data?.id) shares.push(body.data.id)
  }
  const unshare = async () => {
    if (shares.length > 3)
      await owner.delete(`/shares?share_id=${shares.splice(Math.floor(next() * shares.length), 1)[0]}`)
  }
  const others = [
    async () =>
      chats.length > 0 &&
      owner.request(one(['DELETE', 'POST']), `/chats/${one(chats)}${one(['', '/restore', '/archive', '/unarchive'])}`),
    async () => files.length > 0 && owner.delete(`/drive/files/${one([...files, ...folders])}`),
    async () => files.length > 0 && owner.post(`/drive/files/${one([...files, ...folders])}/restore`),
    async () => files.length > 0 && owner.post(`/drive/files/${one(files)}/move`, { parent_id: one(folders) }),
    async () => owner.post(`/drive/files/${one(folders)}/move`, { parent_id: one(folders) }),
    async () =>
      owner.patch(`/workspaces/${one(shared)}/members/${one(people.slice(1)).id}`, {
        permissions: one([null, ['drive:read', 'search:read'], ['chat:read', 'search:read'], ['workspace:read']]),
      }),
    async () => {
      const workspace = one(shared)
      const person = one(people.slice(1))
      await owner.delete(`/workspaces/${workspace}/members/${person.id}`)
      if (next() < 0.5) return
      const { body } = await owner.post(`/workspaces/${workspace}/invitations`, { email: person.email, role: 'viewer' })
      if (body.data?.token) await person.post('/invitations/accept', { token: body.data.token })
    },
  ]
  // Shares are as likely as everything else together, so that they meet every other change.
  const changes: (() => Promise<unknown>)[] = [makeFile, makeChat, ...others, share, share, share, unshare, unshare]
  return { makeFile, makeChat, share, changes }
}

/** What an asker may find now, read from the tables without the code under test. */
async function allowed(db: Db, { person, scopes, only }: Asker): Promise<Map<string, Right>> {
  const may = (scope: string): boolean => scopes === null || scopes.includes('*') || scopes.includes(scope)
  const { rows } = await sql<Right & { kind: string }>`with places as (
      select workspace_id, permissions from members
      where account_id = ${person.id} and (${only}::text is null or workspace_id = ${only}::ulid)
    ), things as (
      select r.id, r.kind, r.workspace_id, f.kind = 'file' is true as file, r.status = 'trashed' as trashed, coalesce(f.ancestors, '{}') as ancestors,
        case r.kind when 'file' then 'drive:read' else r.kind || ':read' end as scope
      from resources r left join files f on f.id = r.id
    )
    select t.id, t.kind, t.file, t.trashed, exists (
        select from places p where p.workspace_id = t.workspace_id and (p.permissions is null or t.scope = any(p.permissions))
      ) as own
    from things t where exists (
        select from places p where p.workspace_id = t.workspace_id and (p.permissions is null or t.scope = any(p.permissions))
      ) or not t.trashed and exists (
        select from shares s left join places p on p.workspace_id = s.workspace_id
        where (s.resource_id = t.id or s.resource_type = 'folder' and s.resource_id::text = any(t.ancestors))
          and (s.account_id = ${person.id} and ${only}::text is null
            or p.workspace_id is not null and (p.permissions is null or t.scope = any(p.permissions)))
      )`.execute(db)
  const right = rows.filter(({ kind }) => may(kind === 'file' ? 'drive:read' : `${kind}:read`))
  return new Map(right.map((row) => [row.id, row]))
}
