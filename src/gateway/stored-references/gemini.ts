import type { ReferenceFields } from './reference-fields.ts'

const answer = 'stands in answers, for what a citation shows'

/** Gemini's requests (@google/genai 3.1.0), whose fields may be in `extra_body` of its OpenAI-compatible paths. */
export const gemini: ReferenceFields = {
  names: {
    cachedContent: { what: 'cached content' },
    cached_content: { what: 'cached content' },
    fileSearchStoreNames: { what: 'file search stores' },
    file_search_store_names: { what: 'file search stores' },
    ragCorpus: { what: 'a corpus' },
    rag_corpus: { what: 'a corpus' },
    ragFileIds: { what: 'files of a corpus' },
    rag_file_ids: { what: 'files of a corpus' },
    datastore: { what: 'a data store' },
    dataStore: { what: 'a data store' },
    datastores: { what: 'data stores' },
    environment_id: { what: 'an environment' },
  },
  not: { media_id: answer, place_id: answer, review_id: answer },
}
