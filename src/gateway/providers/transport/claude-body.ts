import { isObject, parseJson } from '../../model/json.ts'
import { wellFormedJson } from '../../model/well-formed.ts'

/**
 * The fields of Anthropic's messages that clouds take under their own address (AWS: "Request and Response" of Claude's
 * messages; Google: "Use Claude models on Vertex AI"). The rest is refused there.
 */
const carried = new Set(
  `model stream max_tokens messages system temperature top_p top_k stop_sequences tools tool_choice thinking output_config
  metadata`.split(/\s+/),
)

/** Betas that a client asks for, and that its provider is known to take. */
export const betasIn = (header: unknown, allowed: ReadonlySet<string>): { kept: string[]; dropped: boolean } => {
  const asked = String(header ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
  const kept = asked.filter((one) => allowed.has(one))
  return { kept, dropped: kept.length < asked.length }
}

/** The fields that do not get there: all of them do where a beta that is let through may need them. */
export function dropped(
  json: Record<string, unknown>,
  header: unknown,
  allowed: ReadonlySet<string>,
): { fields: string[]; beta: boolean } {
  const betas = betasIn(header, allowed)
  const fields = betas.kept.length > 0 ? [] : Object.keys(json).filter((name) => !carried.has(name))
  return { fields, beta: betas.dropped }
}

/** The body as the cloud wants it: the model and the streaming stand in the path, version and betas in the body. */
export function anthropicBody(
  text: string,
  version: string,
  header: unknown,
  allowed: ReadonlySet<string>,
  keepStream: boolean,
): Buffer {
  const parsed = parseJson(text)
  const json = isObject(parsed) ? parsed : {}
  const { fields } = dropped(json, header, allowed)
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
