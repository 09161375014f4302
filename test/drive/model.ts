import assert from 'node:assert/strict'
import fc from 'fast-check'
import { type Person, testServer } from '../server.ts'

/** A drive said once more, as simply as can be: things with a parent, and what was trashed together. */
interface Thing {
  kind: 'file' | 'folder'
  name: string
  parent: string | null
  /** The thing that it was trashed with; null is not in the trash. */
  unit: string | null
}
type Model = Map<string, Thing>

type Step =
  | { do: 'make'; kind: 'file' | 'folder'; name: string; in: number }
  | { do: 'rename'; of: number; name: string }
  | { do: 'move'; of: number; to: number }
  | { do: 'trash' | 'restore' | 'delete'; of: number }

const names = fc.constantFrom('a', 'b', 'c', 'ä.txt', 'b (2)')
const which = fc.nat(30)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('make' as const),
      kind: fc.constantFrom('file' as const, 'folder' as const, 'folder' as const),
      name: names,
      in: which,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rename' as const), of: which, name: names }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('move' as const), of: which, to: which }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('trash' as const, 'restore' as const, 'restore' as const, 'delete' as const),
      of: which,
    }),
  },
)

/** Plays random steps on a server and on the model, and holds statuses, paths and trash against each other. */
export async function playDrive({ runs, steps }: { runs: number; steps: number }): Promise<void> {
  await using server = await testServer({ environment: { UK_LIMIT_WRITES: '0', UK_LIMIT_READS: '0' } })
  const alice = await server.person('Alice')
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: steps / 2, maxLength: steps }), async (all) => {
      const { id: workspaceId } = (await alice.post('/workspaces', { name: 'Team' })).body.data
      const model: Model = new Map()
      for (const one of all) await play(alice, workspaceId, model, one)
      await compare(alice, workspaceId, model)
      await alice.delete(`/workspaces/${workspaceId}?confirm=Team`)
    }),
    { numRuns: runs, interruptAfterTimeLimit: 600_000 },
  )
}

async function play(alice: Person, workspaceId: string, model: Model, one: Step): Promise<void> {
  const ids = [...model.keys()]
  /** One of the things there are, or null, which is the root. */
  const pick = (n: number): string | null => [null, ...ids][n % (ids.length + 1)]!
  if (one.do === 'make') {
    const parent = pick(one.in)
    const place = parent === null ? { workspace_id: workspaceId } : { parent_id: parent }
    const answer =
      one.kind === 'folder'
        ? await alice.post('/drive/files/folders', { ...place, name: one.name })
        : await alice.post('/drive/files', { ...place, name: one.name, content: one.name })
    const expected = make(model, one.kind, one.name, parent)
    assert.equal(answer.status, typeof expected === 'number' ? expected : 201, `${JSON.stringify(one)} ${answer.text}`)
    if (answer.status === 201) model.set(answer.body.data.id, expected as Thing)
    return
  }
  const id = pick(one.of)
  if (id === null) return
  const at = `/drive/files/${id}`
  const thing = model.get(id)!
  const answer =
    one.do === 'rename'
      ? await alice.patch(at, { name: one.name })
      : one.do === 'move'
        ? await alice.post(`${at}/move`, { parent_id: pick(one.to) })
        : one.do === 'trash'
          ? await alice.delete(at)
          : one.do === 'restore'
            ? await alice.post(`${at}/restore`)
            : await alice.delete(`${at}/permanent-delete`)
  const expected =
    one.do === 'rename'
      ? rename(model, id, thing, one.name)
      : one.do === 'move'
        ? move(model, id, thing, pick(one.to))
        : one.do === 'trash'
          ? trash(model, id, thing)
          : one.do === 'restore'
            ? restore(model, id, thing)
            : remove(model, id, thing)
  assert.equal(answer.status, expected, `${JSON.stringify(one)} ${answer.text}`)
}

const taken = (model: Model, parent: string | null, name: string, but: string | null = null) =>
  [...model].find(([id, one]) => id !== but && one.unit === null && one.parent === parent && one.name === name)
const isBelow = (model: Model, id: string, folder: string): boolean => {
  for (let at = model.get(id)?.parent ?? null; at !== null; at = model.get(at)?.parent ?? null)
    if (at === folder) return true
  return false
}

function make(model: Model, kind: Thing['kind'], name: string, parent: string | null): Thing | number {
  const folder = parent === null ? null : model.get(parent)!
  if (folder?.kind === 'file') return 400
  if (folder !== null && folder.unit !== null) return 409
  const there = taken(model, parent, name)
  if (there !== undefined) return kind === 'folder' && there[1].kind === 'folder' ? 200 : 409
  return { kind, name, parent, unit: null }
}

function rename(model: Model, id: string, thing: Thing, name: string): number {
  if (thing.unit !== null) return 409
  if (taken(model, thing.parent, name, id)) return 409
  thing.name = name
  return 200
}

function move(model: Model, id: string, thing: Thing, to: string | null): number {
  if (thing.unit !== null) return 409
  const folder = to === null ? null : model.get(to)!
  if (folder?.kind === 'file') return 400
  if (folder !== null && folder.unit !== null) return 409
  if (to !== null && (to === id || isBelow(model, to, id))) return 400
  if (taken(model, to, thing.name, id)) return 409
  thing.parent = to
  return 200
}

function trash(model: Model, id: string, thing: Thing): number {
  if (thing.unit !== null) return 200
  for (const [other, one] of model) if (one.unit === null && (other === id || isBelow(model, other, id))) one.unit = id
  return 200
}

const unitOf = (model: Model, id: string, unit: string): string[] =>
  [...model]
    .filter(([other, one]) => one.unit === unit && (other === id || isBelow(model, other, id)))
    .map(([id]) => id)

function restore(model: Model, id: string, thing: Thing): number {
  if (thing.unit === null) return 200
  const unit = unitOf(model, id, thing.unit)
  if (thing.parent !== null && model.get(thing.parent)?.unit !== null) thing.parent = null
  const [stem, ending] = thing.name.endsWith('.txt') ? [thing.name.slice(0, -4), '.txt'] : [thing.name, '']
  for (let n = 2; taken(model, thing.parent, thing.name); n++) thing.name = `${stem} (${n})${ending}`
  for (const other of unit) model.get(other)!.unit = null
  return 200
}

function remove(model: Model, id: string, thing: Thing): number {
  if (thing.unit === null) return 409
  for (const gone of unitOf(model, id, thing.unit)) model.delete(gone)
  for (const one of model.values()) if (one.parent !== null && !model.has(one.parent)) one.parent = null
  return 200
}

async function compare(alice: Person, workspaceId: string, model: Model): Promise<void> {
  const pathOf = (thing: Thing): string =>
    thing.parent === null ? thing.name : `${pathOf(model.get(thing.parent)!)}/${thing.name}`
  const listed = await alice.get(`/drive/files?workspace_id=${workspaceId}&limit=100`)
  const there = listed.body.data.map(({ id, path, parent_id }: Record<string, string>) => [id, path, parent_id])
  const expected = [...model].filter(([, { unit }]) => unit === null).map(([id, one]) => [id, pathOf(one), one.parent])
  assert.deepEqual(there.sort(), expected.sort())
  const trash = await alice.get(`/drive/files?workspace_id=${workspaceId}&status=trashed&limit=100`)
  const roots = [...model].filter(([id, { unit }]) => unit === id).map(([id]) => id)
  assert.deepEqual(trash.body.data.map(({ id }: { id: string }) => id).sort(), roots.sort())
  const db = `/drive/files?workspace_id=${workspaceId}&kind=folder&limit=100`
  for (const { id } of (await alice.get(db)).body.data) {
    const inside = (await alice.get(`/drive/files?parent_id=${id}&limit=100`)).body.data
    assert.deepEqual(
      inside.map(({ id }: { id: string }) => id).sort(),
      [...model]
        .filter(([, one]) => one.parent === id && one.unit === null)
        .map(([id]) => id)
        .sort(),
    )
  }
}
