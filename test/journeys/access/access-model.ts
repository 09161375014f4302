import fc from 'fast-check'
import { type Person, testServer } from '../../server.ts'
import { Play } from './access-play.ts'
import { NAMES, steps } from './access-steps.ts'

/** The words of an earlier failure, to see it again: `ACCESS_REPLAY='{"seed":…,"path":"…"}'`. */
const replay = JSON.parse(process.env.ACCESS_REPLAY ?? '{}') as { seed?: number; path?: string }

/**
 * Plays random steps of several people on a server and on the rules, and holds what each of them then sees against the
 * rules. `listers`: how many of them look at their lists too.
 */
export async function playAccess({
  runs,
  length,
  listers = NAMES.length,
}: {
  runs: number
  length: number
  listers?: number
}): Promise<{ seen: number; hidden: number }> {
  await using server = await testServer({
    environment: { UK_LIMIT_WRITES: '0', UK_LIMIT_READS: '0', UK_LIMIT_INFERENCE: '0' },
  })
  const people: Person[] = []
  for (const name of NAMES) people.push(await server.person(name))
  for (const { id } of people.slice(1)) await people[0]!.post(`/admin/accounts/${id}/credits`, { amount_usd: 100 })
  const totals = { seen: 0, hidden: 0 }
  let turn = 0
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: length / 2, maxLength: length }), async (all) => {
      const play = new Play(people)
      try {
        await play.begin()
        for (const one of all) await play.step(one)
        const { seen, hidden } = await play.compare(Array.from({ length: listers }, () => turn++ % people.length))
        totals.seen += seen
        totals.hidden += hidden
      } finally {
        await play.end()
      }
    }),
    { numRuns: runs, interruptAfterTimeLimit: 1_800_000, ...replay },
  )
  return totals
}
