import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Frame, Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The serious and critical axe violations on the current page: `rule: where`. */
export async function breaches(page: Page | Frame): Promise<string[]> {
  // Injected by the debugger, since the page's policy blocks scripts. Once per loaded page.
  if (!(await page.evaluate<boolean>(`'axe' in globalThis`))) await page.evaluate(source)
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(options: RunOptions): Promise<AxeResults> } }
    const { violations } = await axe.run({ resultTypes: ['violations'] })
    return violations.map(({ id, impact, nodes }) => ({ id, impact, at: nodes.map(({ target }) => target.join(' ')) }))
  })
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, at }) => `${id}: ${at.slice(0, 3).join(' | ')}`)
}
