import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { contractRoutes } from './contract-routes.ts'
import { pdfParts } from './pdf-parts.ts'
import { preloadFonts } from './preload-fonts.ts'
import { thirdPartyLicences } from './third-party-licences.ts'

export default defineConfig({
  base: '/app/',
  plugins: [contractRoutes(), react(), tailwind(), pdfParts(), preloadFonts(), thirdPartyLicences()],
  build: {
    target: 'es2023',
    // Which file needs which: the budget test adds up what a page loads. It is not served.
    manifest: true,
    // The Content-Security-Policy takes no `data:`.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The app, and the frames in which terminals and diagrams are drawn.
    rolldownOptions: {
      input: ['index.html', 'frame/terminal.html', 'frame/diagram.html'].map(
        (page) => `${import.meta.dirname}/${page}`,
      ),
    },
  },
  // `vite web` beside a running server: the pages of the one, the API of the other.
  server: { proxy: { '/v1': 'http://127.0.0.1:4242' } },
})
