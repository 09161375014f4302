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
    // For the size test, which adds up what a page loads. It isn't served.
    manifest: true,
    // The Content-Security-Policy allows no `data:` URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The app, and the frames for terminals and diagrams.
    rolldownOptions: {
      input: ['index.html', 'frame/terminal.html', 'frame/diagram.html'].map(
        (page) => `${import.meta.dirname}/${page}`,
      ),
    },
  },
  // For `vite web` with a running server's API.
  server: { proxy: { '/v1': 'http://127.0.0.1:4242' } },
})
