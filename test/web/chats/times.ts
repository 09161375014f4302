/** Chat latencies as a reader sees them, measured in the page. */
import type { Page } from 'playwright-core'
import { script } from '../../chats/chats.ts'
import type { Person } from '../../server.ts'

/** The 95th percentile. */
export const p95 = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * 0.95) - 1)]!

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

/** Milliseconds from the click in the list to painting the last message. */
export async function openMs(page: Page, title: string, lastWords: string): Promise<number> {
  await page.goto('/app/chats')
  await page.getByRole('link', { name: title, exact: true }).waitFor()
  return page.evaluate<number>(`new Promise((resolve) => {
    const link = [...document.querySelectorAll('a')].find(({ textContent }) => textContent === ${JSON.stringify(title)})
    const begun = performance.now()
    const look = () => {
      // Painted one frame later.
      if (document.querySelector('[role=log]')?.textContent.includes(${JSON.stringify(lastWords)}))
        requestAnimationFrame(() => resolve(performance.now() - begun))
      else requestAnimationFrame(look)
    }
    link.click()
    requestAnimationFrame(look)
  })`)
}

/** A `sim/script` response with about 200 words per second. */
export const steady = (seconds: number): string =>
  script(...Array.from({ length: seconds * 100 }, (_, at) => [{ text: `word${at} and ` }, { delay_ms: 9 }]).flat())

/**
 * Milliseconds from each key to its paint, by the Event Timing API (in steps of 8 ms; events faster than 16 ms aren't
 * reported and count as 16).
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

/** Milliseconds from sending a message to its paint on another user's page. */
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
