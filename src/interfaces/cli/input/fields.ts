import { pathNames, type AnyEndpoint } from '#core/contract.ts'
import { inputSchema } from '#core/registry.ts'
import { exampleOf } from '../../example.ts'
import { type Schema, convert, resolve } from '../../schemas.ts'
import { kebab } from '../../words.ts'

/** The way that words on a command line become the value of a field. */
export type Kind = 'text' | 'time' | 'day' | 'number' | 'switch' | 'list' | 'json'

/** A field of an endpoint's input, as the command line takes it. */
export interface Field {
  name: string
  /** `--page-size` without the dashes. */
  flag: string
  kind: Kind
  inPath: boolean
  required: boolean
  nullable: boolean
  /** Never as a plain word: other users of the machine can read command lines. */
  secret: boolean
  /** The value is taken as it stands: the command itself decides what `-` and `@` mean. */
  verbatim?: true | undefined
  /** Takes every word that is left, as one text: `uk ask how are you`. */
  rest?: true
  /** Takes every word that is left, each as a value: `uk drive upload a.txt b.txt`. */
  several?: true | undefined
  description: string
  /** The words it may be, where they are few. */
  choices: readonly string[]
  /** Values that start with `@` and aren't files, such as the schedule `@daily`. */
  atWords?: readonly string[]
  fallback: unknown
  /** A list whose items are JSON. */
  ofThings: boolean
  /** A file: one of this machine by its path, one of the drive by its id, an address, or JSON. */
  source?: true
  /** A value that it takes; of a list, an item. */
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
      // A question is typed as it is thought, in several words.
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

/** Whether the command sends files of this machine. */
export const takesFiles = ({ takes, parts }: AnyEndpoint): boolean => takes === 'multipart' && parts === undefined

const isThing = (schema: Schema, defs: Record<string, Schema>): boolean => {
  const { type, anyOf, oneOf } = resolve(schema, defs)
  const forms = anyOf ?? oneOf
  return forms ? forms.every((form) => isThing(form, defs)) : type === 'object'
}

/** A union whose kinds are those of files that a request names or brings. */
function isSource({ anyOf, oneOf }: Schema, defs: Record<string, Schema>): boolean {
  const kinds = (anyOf ?? oneOf ?? []).map((form) => resolve(form, defs).properties?.kind?.const)
  return ['file', 'url', 'base64'].every((kind) => kinds.includes(kind))
}

const singular = (name: string): string => name.replace(/ies$/, 'y').replace(/s$/, '')

/** The files that are sent, each as the part `file` of a call. */
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
  description: 'Files of this machine to send, of any size; - is stdin. They keep their names unless --name is given.',
  choices: [],
  fallback: undefined,
  ofThings: false,
  example: './report.pdf',
}

/** Not a field of the endpoint: the command sends the files of a folder one by one. */
const wholeFolders: Field = {
  ...localFiles,
  name: 'recursive',
  flag: 'recursive',
  kind: 'switch',
  verbatim: undefined,
  several: undefined,
  description: 'Upload folders with everything in them. Short: -r.',
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

/** The fields that may be given by position: the path, then every required text, number or file, then files to send. */
export const positionals = (fields: readonly Field[]): Field[] => [
  ...fields.filter((field) => field.inPath),
  ...fields.filter((field) => field.required && !field.inPath && !field.secret && isPlaced(field)),
  ...fields.filter((field) => field.several),
]

const isPlaced = ({ kind, source }: Field): boolean =>
  ['text', 'time', 'day', 'number'].includes(kind) || (source === true && kind !== 'list')

/** Fields of commands that are not endpoints. */
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
