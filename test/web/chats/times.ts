/** How fast a chat is for its reader, measured inside the page. */
import type { Page } from 'playwright-core'
import { script } from '../../chats/chats.ts'
import type { Person } from '../../server.ts'

/** The value below which 95 of 100 lie. */
export const p95 = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * 0.95) - 1)]!

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

/** From the click on its name in the list until its last words are painted, in ms. */
export async function openMs(page: Page, title: string, lastWords: string): Promise<number> {
  await page.goto('/app/chats')
  await page.getByRole('link', { name: title, exact: true }).waitFor()
  return page.evaluate<number>(`new Promise((resolve) => {
    const link = [...document.querySelectorAll('a')].find(({ textContent }) => textContent === ${JSON.stringify(title)})
    const begun = performance.now()
    const look = () => {
      // A frame later it is painted.
      if (document.querySelector('[role=log]')?.textContent.includes(${JSON.stringify(lastWords)}))
        requestAnimationFrame(() => resolve(performance.now() - begun))
      else requestAnimationFrame(look)
    }
    link.click()
    requestAnimationFrame(look)
  })`)
}

/** A script for `sim/script` that says about 200 words a second for so long. */
export const steady = (seconds: number): string =>
  script(...Array.from({ length: seconds * 100 }, (_, at) => [{ text: `word${at} and ` }, { delay_ms: 9 }]).flat())

/**
 * From each key to the paint that shows it, in ms, by the browser's own Event Timing (in steps of 8 ms; what it does not
 * tell of was faster than 16 and counts as that).
 */
export async function keysMs(page: Page, words: string, pauseMs: number): Promise<number[]> {
  await page.evaluate(`{
    globalThis.told = []
    globalThis.telling?.disconnect()
    globalThis.telling = new PerformanceObserver((list) => {
      for (const { name, duration } of list.getEntries()) if (name === 'keydown') told.push(duration)
    })
    telling.observe({ type: 'event', durationThreshold: 16 })
  }`)
  const field = page.getByRole('textbox', { name: 'Message' })
  await field.focus()
  await page.keyboard.type(words, { delay: pauseMs })
  await page.waitForTimeout(300)
  const told = await page.evaluate<number[]>('told')
  return [...told, ...Array.from({ length: Math.max(0, words.length - told.length) }, () => 16)]
}

/** From the moment that somebody sends words until another person’s page has painted them, in ms. */
export async function seenMs(reader: Page, writer: Person, chatId: string, words: string): Promise<number> {
  const seen = reader.evaluate<number>(`new Promise((resolve) => {
    const look = () => {
      if (document.querySelector('[role=log]')?.textContent.includes(${JSON.stringify(words)})) resolve(Date.now())
      else requestAnimationFrame(look)
    }
    look()
  })`)
  const begun = Date.now()
  await writer.post(`/chats/${chatId}/messages`, { content: words, background: true })
  return (await seen) - begun
}
