/** A list of models as it is typed, between commas or spaces. Nothing typed is no list: all models. */
export function modelsIn(words: string): string[] | null {
  const models = words.split(/[,\s]+/).filter(Boolean)
  return models.length === 0 ? null : models
}
