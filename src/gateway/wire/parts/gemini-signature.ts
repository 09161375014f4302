/** Names whose opaque reasoning a part holds, in OpenRouter's word for it. */
export const GEMINI_FORMAT = 'google-gemini-v1'

/**
 * Every part of Gemini's may carry a signature, which has to come back on the same part
 * (https://ai.google.dev/gemini-api/docs/thought-signatures). A thought's is its own; another part's travels as opaque
 * reasoning of its own, whose id says where it belongs: the id of a call, or one of these.
 */
export const TEXT_ID = 'text'
/** The n-th picture of the message, from 0. */
export const pictureId = (n: number): string => `picture:${n}`

/** Whether opaque reasoning is the signature of a call. */
export const signsCall = ({ format, redacted, id }: { format?: string; redacted?: string; id?: string }): boolean =>
  format === GEMINI_FORMAT && redacted !== undefined && id !== undefined && id !== TEXT_ID && !id.startsWith('picture:')
