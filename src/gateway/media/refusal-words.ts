/**
 * Words of vendors for what their moderation does not let through: OpenAI `moderation_blocked`, `content_policy_violation`;
 * Stability `content_moderation`; fal `content_policy_violation`; Google's `Responsible AI`; Replicate's `NSFW` and `E005`.
 */
const moderated =
  /moderation|moderated|content[ _-]?(?:policy|filter|violation)|content_filtered|safety (?:system|filter|check)|flagged as|\bnsfw\b|\bE005\b|sensitive (?:content|words)|responsible ai|prohibited (?:content|use)/i

/** Whether these words of a vendor say that its moderation refused a request. */
export const isRefusal = (words: string): boolean => moderated.test(words)
