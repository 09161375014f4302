import { isObject, parseJson } from '../../model/json.ts'
import { wellFormedJson } from '../../model/well-formed.ts'

/**
 * The Messages fields that clouds accept at their own address (AWS: "Request and Response" of Claude's messages;
 * Google: "Use Claude models on Vertex AI"). They reject all others.
 */
const carriedFields = new Set(
  `model stream max_tokens messages system temperature top_p top_k stop_sequences tools tool_choice thinking output_config
  metadata`.split(/\s+/),
)

export const betasIn = (header: unknown, allowed: ReadonlySet<string>): { kept: string[]; dropped: boolean } => {
  const requested = String(header ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
  const kept = requested.filter((one) => allowed.has(one))
  return { kept, dropped: kept.length < requested.length }
}

/** Nothing is dropped if an allowed beta may need it. */
export function droppedFields(
  json: Record<string, unknown>,
  header: unknown,
  allowed: ReadonlySet<string>,
): { fields: string[]; beta: boolean } {
  const betas = betasIn(header, allowed)
  const fields = betas.kept.length > 0 ? [] : Object.keys(json).filter((name) => !carriedFields.has(name))
  return { fields, beta: betas.dropped }
}

export function anthropicBody(
  text: string,
  version: string,
  header: unknown,
  allowed: ReadonlySet<string>,
  keepStream: boolean,
): Buffer {
  const parsed = parseJson(text)
  const json = isObject(parsed) ? parsed : {}
  const { fields } = droppedFields(json, header, allowed)
  const { model: _, stream, ...rest } = json
  for (const name of fields) delete rest[name]
  const { kept } = betasIn(header, allowed)
  return Buffer.from(
    wellFormedJson({
      anthropic_version: version,
      ...(kept.length > 0 && { anthropic_beta: kept }),
      ...rest,
      ...(keepStream && stream !== undefined && { stream }),
    }),
  )
}
