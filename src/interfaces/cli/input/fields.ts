import { pathNames, type AnyEndpoint } from '#core/contract.ts'
import { inputSchema } from '#core/registry.ts'
import { exampleOf } from '../../example.ts'
import { type Schema, convert, resolve } from '../../schemas.ts'
import { kebab } from '../../words.ts'

export type Kind = 'text' | 'time' | 'day' | 'number' | 'switch' | 'list' | 'json'

export interface Field {
  name: string
  /** `--page-size` without the dashes. */
  flag: string
  kind: Kind
  inPath: boolean
  required: boolean
  nullable: boolean
  /** Never a plain word: other users of the machine can read command lines. */
  secret: boolean
  /** The command itself interprets `-` and `@`. */
  verbatim?: true | undefined
  /** Joins all remaining words into one text: `uk ask how are you`. */
  rest?: true
  /** Takes each remaining word as a value: `uk drive upload a.txt b.txt`. */
  several?: true | undefined
  description: string
  choices: readonly string[]
  /** Values that start with `@` but aren't files, such as the schedule `@daily`. */
  atWords?: readonly string[]
  fallback: unknown
  ofThings: boolean
  /** A file: a local path, a drive file's ID, a URL, or JSON. */
  source?: true
  example: unknown
}

const secretName = /(^|_)(password|secret|token|api_key)$/

export function fieldsOf(endpoint: AnyEndpoint): Field[] {
  const { schemas, defs } = convert('input', { input: inputSchema(endpoint) })
  const { properties = {}, required = [] } = schemas.input!
  const inPath = pathNames(endpoint.path)
  const fields = Object.entries(properties).map(([name, property]): Field => {
    const schema = resolve(property, defs)
    const variants = (schema.anyOf ?? schema.oneOf ?? [schema]).map((variant) => resolve(variant, defs))
    const types = variants.flatMap(({ type }) => type ?? [])
    const kind = kindOf(types, variants)
    const items = kind === 'list' ? variants.find(({ type }) => type === 'array')?.items : undefined
    const words = [schema, ...variants].flatMap(({ examples = [] }) => examples)
    const atWords = words.filter((word) => typeof word === 'string').filter((word) => word.startsWith('@'))
    const source = isSource(items ? resolve(items, defs) : schema, defs)
    return {
      name,
      flag: kebab(name),
      kind,
      inPath: inPath.includes(name),
      required: required.includes(name),
      nullable: types.includes('null'),
      secret: secretName.test(name) && kind === 'text',
      description: schema.description ?? '',
      choices: choicesOf(
        variants.flatMap((variant) =>
          variant.type === 'array' && variant.items ? [resolve(variant.items, defs)] : [variant],
        ),
      ),
      ...(atWords.length > 0 && { atWords }),
      fallback: schema.default,
      ofThings: items !== undefined && !source && isThing(items, defs),
      ...(source && { source: true as const }),
      // A search query may be several words.
      ...(name === 'q' && { rest: true as const }),
      example: source
        ? './picture.png'
        : items
          ? exampleOf(items, defs, singular(name), 'telling')
          : exampleOf(property, defs, name, 'required'),
    }
  })
  if (!takesFiles(endpoint)) return fields
  return fields.some(({ name }) => name === 'parent_id')
    ? [...fields, localFiles, wholeFolders]
    : [...fields, localFiles]
}

export const takesFiles = ({ takes, parts }: AnyEndpoint): boolean => takes === 'multipart' && parts === undefined

const isThing = (schema: Schema, defs: Record<string, Schema>): boolean => {
  const { type, anyOf, oneOf } = resolve(schema, defs)
  const forms = anyOf ?? oneOf
  return forms ? forms.every((form) => isThing(form, defs)) : type === 'object'
}

function isSource({ anyOf, oneOf }: Schema, defs: Record<string, Schema>): boolean {
  const kinds = (anyOf ?? oneOf ?? []).map((form) => resolve(form, defs).properties?.kind?.const)
  return ['file', 'url', 'base64'].every((kind) => kinds.includes(kind))
}

const singular = (name: string): string => name.replace(/ies$/, 'y').replace(/s$/, '')

/** Files to send, one call per file, as the `file` part. */
const localFiles: Field = {
  name: 'file',
  flag: 'file',
  kind: 'list',
  inPath: false,
  required: false,
  nullable: false,
  secret: false,
  verbatim: true,
  several: true,
  description: 'Local files to send, of any size, or - for stdin. They keep their names unless you set --name.',
  choices: [],
  fallback: undefined,
  ofThings: false,
  example: './report.pdf',
}

/** Not a field of the endpoint: the command uploads a folder's files one by one. */
const wholeFolders: Field = {
  ...localFiles,
  name: 'recursive',
  flag: 'recursive',
  kind: 'switch',
  verbatim: undefined,
  several: undefined,
  description: 'Upload folders and everything in them. Short: -r.',
  fallback: false,
}

function kindOf(types: readonly string[], variants: readonly Schema[]): Kind {
  if (variants.some(({ format }) => format === 'date-time')) return 'time'
  if (variants.some(({ format }) => format === 'date')) return 'day'
  if (types.includes('string') || variants.some((variant) => variant.enum?.some((word) => typeof word === 'string')))
    return 'text'
  if (types.includes('integer') || types.includes('number')) return 'number'
  if (types.includes('boolean')) return 'switch'
  if (types.includes('array')) return 'list'
  return 'json'
}

const choicesOf = (variants: readonly Schema[]): string[] =>
  variants
    .flatMap(({ enum: words, const: word }) => words ?? (word === undefined ? [] : [word]))
    .filter((word) => typeof word === 'string')

/**
 * Fields that can be passed by position: path parameters, then required text, numbers and files, then files to send.
 */
export const positionals = (fields: readonly Field[]): Field[] => [
  ...fields.filter((field) => field.inPath),
  ...fields.filter((field) => field.required && !field.inPath && !field.secret && isPlaced(field)),
  ...fields.filter((field) => field.several),
]

const isPlaced = ({ kind, source }: Field): boolean =>
  ['text', 'time', 'day', 'number'].includes(kind) || (source === true && kind !== 'list')

export const textField = (name: string): Field => ({
  name,
  flag: name.replaceAll('_', '-'),
  kind: 'text',
  inPath: false,
  required: false,
  nullable: false,
  secret: false,
  description: '',
  choices: [],
  fallback: undefined,
  ofThings: false,
  example: '',
})
export const secretField = (name: string): Field => ({ ...textField(name), secret: true })
