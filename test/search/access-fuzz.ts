import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { random } from '../../bench/search/world.ts'
import { upload } from '../drive.ts'
import { type Caller, type Person, testServer } from '../server.ts'

/**
 * Random people, workspaces, roles, permissions, keys, files in folders that move and are trashed, chats that are renamed
 * and put away; after each change somebody asks, by search, grep and glob. A find that the asker's own list of effective
 * access does not hold is a leak. Answers how many answers were held against it.
 */
export async function fuzzAccess(cases: number, seed: number): Promise<number> {
  await using server = await testServer({
    environment: { UK_LIMIT_SEARCHES: '0', UK_LIMIT_WRITES: '0', UK_LIMIT_READS: '0' },
  })
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
  const askers: { who: Caller; person: Person; scopes: string[] | null; only: string | null }[] = people.map(
    (person) => ({ who: person, person, scopes: null, only: null }),
  )
  for (const person of people)
    for (const scopes of [['search:read', 'drive:read'], ['search:read', 'chat:read'], ['*']]) {
      const only = next() < 0.4 ? one([person.workspaceId, ...shared]) : null
      askers.push({ who: await person.key({ scopes, ...(only && { workspace_id: only }) }), person, scopes, only })
    }
  const folders: string[] = []
  for (const workspace of shared)
    for (let i = 0; i < 2; i++)
      folders.push((await owner.post('/drive/files/folders', { workspace_id: workspace, name: `f${i}` })).body.data.id)
  const files: string[] = []
  const chats: string[] = []
  let checked = 0
  let found = 0

  const changes: (() => Promise<unknown>)[] = [
    async () =>
      files.push(
        (
          await upload(
            owner,
            next() < 0.7 ? { parent_id: one(folders) } : { workspace_id: one([owner.workspaceId, ...shared]) },
            Buffer.from('okapi text'),
            `okapi${files.length}-${Math.floor(next() * 1e9)}.txt`,
          )
        ).body.data?.id,
      ),
    async () =>
      chats.push(
        (
          await owner.post('/chats', {
            title: `okapi ${chats.length}`,
            workspace_id: one([owner.workspaceId, ...shared]),
          })
        ).body.data.id,
      ),
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
  const db = server.app.engine.postgres.db
  /** What an asker may find now, worked out from the tables alone and not by the code under test. */
  async function allowed({ person, scopes, only }: (typeof askers)[number]): Promise<Set<string>> {
    const may = (scope: string): boolean => scopes === null || scopes.includes('*') || scopes.includes(scope)
    const { rows } = await sql<{ id: string; kind: string }>`select r.id, r.kind from resources r
      join members m on m.workspace_id = r.workspace_id and m.account_id = ${person.id}
      where r.status <> 'trashed' and (${only}::text is null or r.workspace_id = ${only}::text)
        and (m.permissions is null or (case r.kind when 'file' then 'drive:read' else r.kind || ':read' end) = any(m.permissions))`.execute(
      db,
    )
    return new Set(rows.filter(({ kind }) => may(kind === 'file' ? 'drive:read' : `${kind}:read`)).map(({ id }) => id))
  }
  for (let i = 0; checked < cases; i++) {
    await one(changes)()
    for (let k = 0; k < 4; k++) {
      const asker = one(askers)
      const paths = [
        '/search?q=okapi&limit=100',
        '/drive/grep?pattern=okapi&mode=files&limit=100',
        '/drive/glob?pattern=okapi*&limit=100',
      ]
      const path = one(paths)
      const answer = await asker.who.get(path)
      const right = await allowed(asker)
      const rows: { id?: string; file_id?: string }[] = answer.status === 200 ? answer.body.data : []
      if (answer.status !== 200) assert.equal(answer.status, 403, answer.text)
      for (const { id, file_id } of rows)
        assert.ok(
          right.has(id ?? file_id!),
          `seed ${seed}, step ${i}: ${asker.person.name} found ${id ?? file_id} by ${path}`,
        )
      checked++
      found += rows.length
    }
  }
  assert.ok(found > checked / 4, `only ${found} finds in ${checked} answers: nothing was at stake`)
  return checked
}
