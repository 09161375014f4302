/**
 * Skips a test if the machine lacks something: `test('…', needs(canMount, 'the right to mount'), …)`. With
 * `UK_TEST_ALL=1`, as in the merge check, that is a failure.
 */
export function needs(there: boolean, what: string): { skip?: string } {
  if (there) return {}
  if (process.env.UK_TEST_ALL === '1') throw new Error(`UK_TEST_ALL is set, and this machine lacks ${what}`)
  return { skip: `needs ${what}` }
}
