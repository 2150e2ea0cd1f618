/** Light or dark as last chosen here, before the first thing is drawn; without a choice as the system says. */
document.documentElement.dataset.theme = localStorage.getItem("theme") ?? "auto";
