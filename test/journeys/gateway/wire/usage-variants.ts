/** The places of usage, and what the same figures look like elsewhere: as strings, and among placeholders of zeros. */
import { wires } from './scripted.ts'
import { type Place, cached, chunk, completion, plain, said, usageEvent, written } from './usage-places.ts'

/** Names under which providers report usage, in an answer or an event. */
const USAGE = new Set(['usage', 'usageMetadata', 'timings', 'x_groq'])

/** The same answer or event with every figure of its usage written as a string. */
function withStrings(given: any, inUsage = false): any {
  if (typeof given === 'number') return inUsage ? String(given) : given
  if (Array.isArray(given)) return given.map((one) => withStrings(one, inUsage))
  if (typeof given !== 'object' || given === null) return given
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, withStrings(value, inUsage || USAGE.has(name))]),
  )
}

const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }

/** Chat answers with placeholders of zeros in front of, beside and behind the figures. */
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
      events: [said, end],
      tokens: cached,
    },
    {
      provider: `figures in the ${where}, zeros in every other event`,
      wire: wires.chat,
      whole,
      events: [{ ...said, usage: zeros }, end, usageEvent(zeros)],
      tokens: cached,
    },
  ]
})

/** Every place, with the figures as numbers and as strings. */
export const places: Place[] = [...written, ...besideZeros].flatMap((place) => [
  place,
  {
    ...place,
    provider: `${place.provider}, as strings`,
    whole: withStrings(place.whole),
    events: place.events.map((event) => withStrings(event)),
  },
])
