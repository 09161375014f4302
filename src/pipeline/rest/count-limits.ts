import type { z } from 'zod'
import type { CountLimits } from '#core/json/json-counts.ts'

const USUAL: CountLimits = { lists: {}, otherLists: 20_000, inner: 5_000, values: 250_000 }
const limitsBySchema = new WeakMap<z.ZodObject, CountLimits>()

export function countLimitsOf(schema: z.ZodObject): CountLimits {
  let limits = limitsBySchema.get(schema)
  if (limits === undefined) {
    const lists: Record<string, number> = {}
    for (const [name, field] of Object.entries(schema.shape)) {
      const most = mostElements(field as Kind)
      if (most !== null) lists[name] = most
    }
    limits = { ...USUAL, lists }
    limitsBySchema.set(schema, limits)
  }
  return limits
}

interface Kind {
  def?: { type?: string; innerType?: Kind; in?: Kind; options?: Kind[]; checks?: Check[] }
}
interface Check {
  _zod: { def: { check?: string; maximum?: number } }
}

function mostElements({ def }: Kind): number | null {
  if (def?.type === 'array')
    return def.checks?.find(({ _zod }) => _zod.def.check === 'max_length')?._zod.def.maximum ?? null
  const inner = def?.innerType ?? def?.in
  if (inner !== undefined) return mostElements(inner)
  const options = (def?.options ?? []).map(mostElements).filter((most) => most !== null)
  return options.length === 0 ? null : Math.max(...options)
}
