import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDir } from '#test/program.ts'
import { checkPlace, claimPlace } from './place.ts'

const A = 'https://a.example.com'
const B = 'https://b.example.com'

/** A place for programs, and machines’ states beside it. */
function room() {
  const dir = temporaryDir('place-')
  return {
    place: join(dir.path, 'place'),
    daemon(name: string): string {
      const folder = join(dir.path, name)
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, 'computer.json'), '{}')
      return folder
    },
    [Symbol.dispose]: () => dir[Symbol.dispose](),
  }
}
const refused = (promise: Promise<void>): Promise<void> =>
  assert.rejects(promise, {
    name: 'DaemonFault',
    kind: 'usage',
    message: /was installed from https:\/\/a\.example\.com/,
  })

test("daemons of one server share a program, and a daemon of another server can't use it until they are unpaired", async () => {
  using all = room()
  const [one, two, other] = ['one', 'two', 'other'].map(all.daemon)
  await claimPlace(all.place, one!, A)
  await claimPlace(all.place, two!, A)
  await refused(claimPlace(all.place, other!, B))
  await refused(checkPlace(all.place, other!, B))
  // A rejected claim leaves no record.
  await claimPlace(all.place, one!, A)
  rmSync(join(one!, 'computer.json'))
  await refused(claimPlace(all.place, other!, B))
  rmSync(two!, { recursive: true })
  await claimPlace(all.place, other!, B)
  // A daemon alone in its place can move to another server.
  await claimPlace(all.place, other!, A)
})

test('when daemons of two servers start at once, those of one server get the place', async () => {
  for (let round = 0; round < 10; round++) {
    using all = room()
    const claims = await Promise.allSettled(
      Array.from({ length: 8 }, (_, at) => claimPlace(all.place, all.daemon(String(at)), at % 2 === 0 ? A : B)),
    )
    const winners = new Set(claims.flatMap(({ status }, at) => (status === 'fulfilled' ? [at % 2] : [])))
    assert.equal(winners.size, 1)
    assert.equal(claims.filter(({ status }) => status === 'fulfilled').length, 4)
  }
})
