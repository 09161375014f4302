/** The places of usage, and variants of the same figures: as strings, and among placeholders of zeros. */
import { wires } from './scripted.ts'
import {
  type Place,
  cachedUsage,
  chunk,
  completion,
  plain,
  textChunk,
  usageEvent,
  usagePlaces,
} from './usage-places.ts'

/** Names under which providers report usage, in an answer or an event. */
const USAGE = new Set(['usage', 'usageMetadata', 'timings', 'x_groq'])

/** Turns every usage figure into a string. */
function withStrings(value: any, inUsage = false): any {
  if (typeof value === 'number') return inUsage ? String(value) : value
  if (Array.isArray(value)) return value.map((one) => withStrings(one, inUsage))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, value]) => [name, withStrings(value, inUsage || USAGE.has(name))]),
  )
}

const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }

/** Chat Completions answers with placeholders of zeros before, beside, and after the figures. */
const besideZeros: Place[] = (['choice', 'message'] as const).flatMap((where) => {
  const usage = { ...plain, cached_tokens: 240 }
  const inChoice = where === 'choice' ? { usage } : {}
  const whole = completion({ usage: zeros }, inChoice)
  if (where === 'message') Object.assign(whole.choices[0]!.message, { usage })
  const end = chunk(where === 'message' ? { usage } : {}, 'stop', { usage: zeros }, inChoice)
  return [
    {
      provider: `zeros at the top, figures in the ${where}`,
      wire: wires.chat,
      whole,
      events: [textChunk, end],
      tokens: cachedUsage,
    },
    {
      provider: `figures in the ${where}, zeros in every other event`,
      wire: wires.chat,
      whole,
      events: [{ ...textChunk, usage: zeros }, end, usageEvent(zeros)],
      tokens: cachedUsage,
    },
  ]
})

/** Every place, with the figures as numbers and as strings. */
export const places: Place[] = [...usagePlaces, ...besideZeros].flatMap((place) => [
  place,
  {
    ...place,
    provider: `${place.provider}, as strings`,
    whole: withStrings(place.whole),
    events: place.events.map((event) => withStrings(event)),
  },
])
