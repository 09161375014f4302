import { z } from 'zod'

/** JSON Schema, draft 2020-12, as in OpenAPI 3.1. */
export interface Schema {
  type?: string | string[]
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  enum?: unknown[]
  const?: unknown
  default?: unknown
  examples?: unknown[]
  format?: string
  pattern?: string
  minimum?: number
  maximum?: number
  $ref?: string
  [key: string]: unknown
}

export interface Converted {
  schemas: Record<string, Schema>
  /** Schemas with `.meta({ id })`, by ID; referenced as `#/$defs/<id>`. */
  defs: Record<string, Schema>
}

/** Converts zod schemas in their request (`input`) or response (`output`) form. */
export function convert(io: 'input' | 'output', named: Record<string, z.ZodType>): Converted {
  const { $defs = {}, properties = {} } = z.toJSONSchema(z.object(named), {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => tidy(zodSchema._zod.def, jsonSchema as Schema),
  }) as Schema & { $defs?: Record<string, Schema> }
  for (const schema of Object.values($defs)) {
    delete schema.$id
    delete schema.id
  }
  return { schemas: properties, defs: $defs }
}

function tidy({ type, catchall }: { type: string; catchall?: unknown }, schema: Schema): void {
  // Fields can override their wire schema: `.meta({ override: { type: 'boolean' } })`.
  if (schema.override !== undefined) {
    const { override, description, default: fallback } = schema
    for (const key of Object.keys(schema)) delete schema[key]
    Object.assign(
      schema,
      override,
      description !== undefined && { description },
      fallback !== undefined && { default: fallback },
    )
  }
  // Drops the 400-character date-time pattern, which the format implies.
  if (schema.format === 'date-time') delete schema.pattern
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if ('example' in schema) {
    schema.examples = [schema.example]
    delete schema.example
  }
  // Responses may gain fields without a new version, so only strict objects forbid others.
  if (type === 'object' && catchall === undefined) delete schema.additionalProperties
}

export interface Described {
  inputs: Record<string, Schema>
  outputs: Record<string, Schema>
  components: Record<string, Schema>
}

/** Inputs and outputs with shared components. Components that differ appear twice, as `X` and `XInput`. */
export function describe(inputs: Record<string, z.ZodType>, outputs: Record<string, z.ZodType>): Described {
  const given = convert('input', inputs)
  const answered = convert('output', outputs)
  const differ = differing(given.defs, answered.defs)
  const asInput = (id: string): string => (differ.has(id) ? `${id}Input` : id)
  const same = (id: string): string => id
  const components = {
    ...rename(answered.defs, same),
    ...Object.fromEntries(Object.entries(rename(given.defs, asInput)).map(([id, schema]) => [asInput(id), schema])),
  }
  return {
    inputs: rename(given.schemas, asInput),
    outputs: rename(answered.schemas, same),
    components: Object.fromEntries(Object.entries(components).toSorted(([a], [b]) => (a < b ? -1 : 1))),
  }
}

/** IDs whose forms differ, directly or through references. */
function differing(given: Record<string, Schema>, answered: Record<string, Schema>): ReadonlySet<string> {
  const both = Object.keys(given).filter((id) => id in answered)
  const differ = new Set(both.filter((id) => JSON.stringify(given[id]) !== JSON.stringify(answered[id])))
  for (let before = -1; before !== differ.size;) {
    before = differ.size
    for (const id of both) if (refsIn(given[id]!).some((ref) => differ.has(ref))) differ.add(id)
  }
  return differ
}

const refsIn = (schema: Schema): string[] =>
  [...JSON.stringify(schema).matchAll(/"#\/\$defs\/([^"]+)"/g)].map(([, id]) => decodeURIComponent(id!))

const rename = (schemas: Record<string, Schema>, to: (id: string) => string): Record<string, Schema> =>
  JSON.parse(
    JSON.stringify(schemas).replace(
      /"#\/\$defs\/([^"]+)"/g,
      (_, id: string) => `"#/components/schemas/${to(decodeURIComponent(id))}"`,
    ),
  ) as Record<string, Schema>

/** Resolves a reference. Keywords next to it take precedence. */
export function resolve(schema: Schema, components: Record<string, Schema>): Schema {
  if (schema.$ref === undefined) return schema
  const { $ref, ...beside } = schema
  const found = components[$ref.slice($ref.lastIndexOf('/') + 1)]
  return found === undefined ? beside : resolve({ ...found, ...beside }, components)
}
