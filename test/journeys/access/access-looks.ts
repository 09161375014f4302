/** What each person of the model of access sees, held against the rules. */
import assert from 'node:assert/strict'
import type { Answer, Person } from '../../server.ts'
import { type Who, type World, isTold, pathOf, readStatus, workspaceStatus } from './access-rules.ts'

/** Everybody looks at everything by its id; these look at what is listed for them, too. */
export async function compare(
  people: readonly Person[],
  world: World,
  listers: readonly Who[],
): Promise<{ seen: number; hidden: number }> {
  const counts = { seen: 0, hidden: 0 }
  const looks = people.map(async (_, i) => {
    for (const expected of await look(people, world, i)) counts[expected === 0 ? 'seen' : 'hidden'] += 1
    if (listers.includes(i)) await lookAtLists(people, world, i)
  })
  await Promise.all(looks)
  return counts
}

async function look(people: readonly Person[], world: World, i: Who): Promise<number[]> {
  const person = people[i]!
  const looks: number[] = []
  const check = (answer: Answer, expected: number, what: string): boolean => {
    assert.equal(answer.status, expected || 200, `${person.name} reads ${what}: ${answer.text}`)
    looks.push(expected)
    return expected === 0
  }
  for (const workspace of world.workspaces)
    if (!workspace.personal)
      check(await person.get(`/workspaces/${workspace.id}`), workspaceStatus(workspace, i), 'a workspace')
  for (const thing of world.things.values()) {
    const expected = readStatus(world, thing, i)
    if (thing.kind === 'agent') {
      check(await person.get(`/agents/${thing.id}`), expected, `agent ${thing.id}`)
      continue
    }
    const all = await person.get(`/chats/${thing.id}/messages?branch=all&limit=100`)
    if (check(all, expected, `the messages of chat ${thing.id}`))
      assert.deepEqual(
        all.body.data.map(textOf),
        thing.messages.map(({ text }) => text),
      )
  }
  return looks
}

async function lookAtLists(people: readonly Person[], world: World, i: Who): Promise<void> {
  const person = people[i]!
  const rowsOf = async (path: string) => (await person.get(`${path}?limit=100`)).body.data as { id: string }[]
  const things = [...world.things.values()].filter((thing) => readStatus(world, thing, i) === 0)
  for (const kind of ['chat', 'agent'] as const) {
    const listed = (await rowsOf(`/${kind}s`)).filter(({ id }) => world.things.has(id))
    const mine = things.filter((one) => one.kind === kind && one.status === 'active' && one.workspace.members.has(i))
    assert.deepEqual(idsOf(listed), idsOf(mine), `${person.name} lists ${kind}s`)
  }
  const ours = new Set(world.shares.map(({ id }) => id))
  const told = (await rowsOf('/shared-with-me')).filter(({ id }) => ours.has(id))
  const given = world.shares.filter((share) => isTold(world, share, i))
  assert.deepEqual(idsOf(told), idsOf(given), `${person.name} is shared with`)
  for (const chat of things.filter(({ kind, messages }) => kind === 'chat' && messages.length > 0)) {
    const path = await rowsOf(`/chats/${chat.id}/messages`)
    assert.deepEqual(
      path.map((row) => textOf(row as never)),
      pathOf(chat).map(({ text }) => text),
    )
  }
}

const idsOf = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id).toSorted()
const textOf = ({ role, text }: { role: string; text: string }): string => `${role} ${text}`
