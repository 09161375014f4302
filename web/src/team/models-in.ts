/** Parses model names separated by commas or spaces. Empty text means all models. */
export function modelsIn(words: string): string[] | null {
  const models = words.split(/[,\s]+/).filter(Boolean)
  return models.length === 0 ? null : models
}
