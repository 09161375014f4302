import type { z } from 'zod'

interface Definition {
  type: string
  innerType?: z.ZodType
  in?: z.ZodType
  out?: z.ZodType
  getter?: () => z.ZodType
  shape?: Record<string, z.ZodType>
  element?: z.ZodType
  valueType?: z.ZodType
  items?: readonly z.ZodType[]
  options?: readonly z.ZodType[]
  left?: z.ZodType
  right?: z.ZodType
}

const definitionOf = (schema: z.ZodType): Definition => schema.def

export function knownFields(schema: z.ZodType, path: readonly PropertyKey[]): Set<string> {
  const at = path.reduce<z.ZodType[]>((inner, key) => inner.flatMap((one) => within(one, key)), forms(schema))
  return new Set(at.flatMap(forms).flatMap((one) => Object.keys(definitionOf(one).shape ?? {})))
}

function forms(schema: z.ZodType): z.ZodType[] {
  const { type, innerType, in: before, out, getter, options, left, right } = definitionOf(schema)
  if (type === 'pipe') return [...forms(before!), ...forms(out!)]
  if (type === 'lazy') return forms(getter!())
  if (type === 'union') return options!.flatMap(forms)
  if (type === 'intersection') return [...forms(left!), ...forms(right!)]
  return innerType === undefined ? [schema] : forms(innerType)
}

function within(schema: z.ZodType, key: PropertyKey): z.ZodType[] {
  return forms(schema).flatMap((form) => {
    const { type, shape, element, valueType, items } = definitionOf(form)
    if (type === 'object') return shape?.[String(key)] ?? []
    if (type === 'array') return element ?? []
    if (type === 'record') return valueType ?? []
    return type === 'tuple' ? (items?.[Number(key)] ?? []) : []
  })
}
