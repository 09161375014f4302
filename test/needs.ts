/**
 * The machine must have what a test needs: `test('…', needs(canMount, 'the right to mount'), …)`. Else the test
 * is skipped; with `UK_TEST_ALL=1`, as the merge check sets it, that is a failure of its own.
 */
export function needs(there: boolean, what: string): { skip?: string } {
  if (there) return {}
  if (process.env.UK_TEST_ALL === '1') throw new Error(`UK_TEST_ALL is set, and this machine lacks ${what}`)
  return { skip: `needs ${what}` }
}
