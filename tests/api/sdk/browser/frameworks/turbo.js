import * as Turbo from "@hotwired/turbo";

window.Turbo = Turbo;
